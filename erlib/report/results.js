(root, data) => {
  // The explorer of the stored runs. `data` is what erlib.report.explore packed: the accuracy matrix of every run.
  // Draws what erlib.report.explore_widgets draws in Jupyter; a test holds the two against each other.
  const base = document.documentElement.dataset.content_root;
  if (base === undefined) return;  // not a page of the book: the still picture stays
  const load = window.Plotly ? Promise.resolve() : new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${base}_static/plotly.min.js`;
    script.onload = done; script.onerror = failed;
    document.head.append(script);
  });
  const choice = { benchmark: 0, metric: "accuracy", size: null, rows: new Set(data.first), seeds: true, of: null, seed: "mean" };
  const bench = () => data.benchmarks[choice.benchmark];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const show = (value) => String(Number(value.toPrecision(4)));

  function matrix(run, tasks) {  // T x T, null where nothing was evaluated
    if (!run.rows) {
      const bytes = Uint8Array.from(atob(run.matrix), (letter) => letter.charCodeAt(0));
      const view = new DataView(bytes.buffer);
      let place = 0;
      run.rows = Array.from({ length: tasks }, (_, i) => Array.from({ length: tasks }, (_, j) => {
        if (j > i) return null;
        const value = view.getUint16(2 * place++, true);
        return value === data.none ? null : value / data.unit;
      }));
    }
    return run.rows;
  }

  function along(run, metric, tasks) {
    const rows = matrix(run, tasks);
    return rows.map((row, k) => {
      const seen = row.slice(0, k + 1);
      if (metric === "newest") return row[k] === null ? null : 100 * row[k];
      if (seen.includes(null)) return null;
      if (metric === "accuracy") return 100 * mean(seen);
      const drops = [];
      for (let j = 0; j < k; j++) {
        const before = rows.slice(0, k).map((earlier) => earlier[j]).filter((value) => value !== null);
        if (before.length) drops.push(Math.max(...before) - row[j]);
      }
      return drops.length ? mean(drops) : null;
    });
  }

  function half(values) {
    if (values.length < 2) return null;
    const middle = mean(values);
    const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
    return data.quantiles[values.length] * Math.sqrt(variance / values.length);
  }

  const faint = (colour) => `rgba(${[1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)).join(",")},0.16)`;
  const shown = () => bench().places.filter((p) => choice.rows.has(p.row) && (p.size === null || p.size === choice.size));

  function traces() {
    const tasks = bench().tasks, metric = choice.metric, all = [];
    shown().forEach((place, number) => {
      const lines = place.runs.map((run) => along(run, metric, tasks)), n = lines.length;
      const points = [...Array(tasks).keys()].map((k) => [k + 1, lines.map((line) => line[k])])
        .filter(([, column]) => n && !column.includes(null)).map(([k, column]) => ({ k, middle: mean(column), half: half(column) }));
      const ks = points.map((p) => p.k);
      if (n >= data.least) all.push({
        x: [...ks, ...ks.slice().reverse()],
        y: [...points.map((p) => p.middle - p.half), ...points.slice().reverse().map((p) => p.middle + p.half)],
        mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: faint(place.colour), hoverinfo: "skip",
      });
      if (choice.seeds && points.length) all.push({
        x: lines.flatMap((line) => [...line.map((_, k) => k + 1), null]),
        y: lines.flatMap((line) => [...line, null]),
        text: place.runs.flatMap((run) => [...Array(tasks).fill(`seed ${run.seed}, run ${run.id}`), ""]),
        mode: "lines+markers", line: { width: 0.8, color: place.colour }, marker: { size: 3 }, opacity: 0.45,
        hovertemplate: `${place.row}, after task %{x}: %{y:.4~g}<br>%{text}<extra></extra>`,
      });
      const ids = place.runs.map((run) => run.id), broken = [];
      for (let i = 0; i < ids.length; i += 3) broken.push(ids.slice(i, i + 3).join(", "));
      if (points.length) all.push({
        x: ks, y: points.map((p) => p.middle),
        text: points.map((p) => `mean ${show(p.middle)}` + (p.half === null ? "" :
          `, 95% ${show(p.middle - p.half)} to ${show(p.middle + p.half)}`) + `, n = ${n}<br>runs ${broken.join("<br>")}`),
        mode: "lines+markers", line: { width: 2, color: place.colour }, marker: { symbol: place.symbol, size: 7 },
        hovertemplate: `<b>${place.row}</b>, after task %{x}<br>%{text}<extra></extra>`,
      });
      const paper = place.paper[metric];
      if (paper) all.push({
        x: [tasks + 0.35 + 0.25 * (number % 4)], y: [paper[0]], mode: "markers",
        marker: { symbol: place.symbol, size: 8, color: "white", line: { width: 1.5, color: place.colour } },
        ...(paper[1] === null ? {} : { error_y: { array: [paper[1]], color: place.colour, thickness: 1, width: 2 } }),
        hovertemplate: `<b>${place.row}</b>, the paper: ${paper[0]}${paper[1] === null ? "" : ` ± ${paper[1]}`}<extra></extra>`,
      });
    });
    return all;
  }

  const FONT = { family: "sans-serif", size: 12, color: "#222" };
  const GRID = { gridcolor: "#e6e6e6", zeroline: false, linecolor: "#666", ticks: "outside", tickcolor: "#666" };
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
  const ticks = (tasks) => ({ tickvals: Array.from({ length: tasks }, (_, i) => i + 1).filter((k) => tasks <= 10 || (tasks - k) % 3 === 0) });
  const words = (text) => ({ text, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5, font: { ...FONT, color: "#666" } });

  function drawCurves() {
    const places = shown(), n = places.some((place) => place.runs.length), tasks = bench().tasks;
    const empty = !places.length ? "choose a method above" : n ? "" : "ours: not run yet; hollow: the paper after the last task";
    Plotly.react(root.querySelector(".curves"), traces(), {
      height: 420, margin: { l: 55, r: 12, t: 40, b: 56 }, showlegend: false, hovermode: "closest", font: FONT,
      title: { text: `${bench().title}, ${choice.size} per class${data.quick ? ": QUICK SCALE, not comparable" : ""}`, font: { ...FONT, size: 14 } },
      xaxis: { ...GRID, title: { text: "tasks learned k" }, range: [0.5, tasks + 1.5], ...ticks(tasks) },
      yaxis: { ...GRID, title: { text: data.metrics[choice.metric] } },
      hoverlabel: { align: "left", font: { size: 11 } }, annotations: empty ? [words(empty)] : [],
    }, CONFIG);
  }

  function drawMatrix() {
    const tasks = bench().tasks, place = shown().find((p) => p.row === choice.of);
    const runs = place ? place.runs.filter((run) => choice.seed === "mean" || run.seed === Number(choice.seed)) : [];
    const numbers = Array.from({ length: tasks }, (_, i) => i + 1);
    const rows = runs.map((run) => matrix(run, tasks));
    const z = rows.length ? numbers.map((_, i) => numbers.map((_, j) => {
      const cell = rows.map((row) => row[i][j]);
      return cell.includes(null) ? null : 100 * mean(cell);
    })) : [];
    const which = choice.seed === "mean" ? `mean of ${runs.length}` : `seed ${choice.seed}, run ${runs.length ? runs[0].id : ""}`;
    Plotly.react(root.querySelector(".matrix"), [{
      type: "heatmap", x: numbers, y: numbers, z, colorscale: "Viridis", xgap: 1, ygap: 1, hoverongaps: false,
      colorbar: { title: { text: "%" }, thickness: 12 },
      hovertemplate: "task %{x} after task %{y}: %{z:.1f}%<extra></extra>",
    }], {
      height: 440, margin: { l: 50, r: 10, t: 40, b: 56 }, font: FONT,
      title: { text: runs.length ? `${choice.of}, ${which}` : choice.of ?? "", font: { ...FONT, size: 14 } },
      xaxis: { ...GRID, showgrid: false, title: { text: "accuracy on task" }, range: [0.5, tasks + 0.5], ...ticks(tasks) },
      yaxis: { ...GRID, showgrid: false, title: { text: "after task" }, range: [tasks + 0.5, 0.5], ...ticks(tasks) },
      annotations: runs.length ? [] : [words(place ? "no run of this row is stored yet" : "choose a method above")],
    }, CONFIG);
  }

  function csv(benchmarks, keep) {
    const lines = ["benchmark,row,samples_per_class,seed,run_id,after_task,task,accuracy"];
    for (const { name, tasks, places } of benchmarks)
      for (const place of places.filter(keep))
        for (const run of place.runs)
          matrix(run, tasks).forEach((row, i) => row.forEach((value, j) => {
            if (value === null) return;
            lines.push([name, `"${place.row}"`, place.size ?? "", run.seed, run.id, i + 1, j + 1, Number(value.toFixed(5))].join(","));
          }));
    return lines.join("\n") + "\n";
  }
  function offer(link, text) {  // made when it is asked for: the table of all runs is large
    link.onclick = () => { link.href = URL.createObjectURL(new Blob([text()], { type: "text/csv" })); };
  }

  root.innerHTML = `
    <div class="menus">
      <label>benchmark <select class="benchmark"></select></label>
      <label>metric <select class="metric"></select></label>
      <span>samples per class <span class="sizes"></span></span>
      <label><input type="checkbox" class="seeds" checked> each seed</label>
    </div>
    <div class="rows" role="group" aria-label="methods"></div>
    <div class="plot curves"></div>
    <p class="note">Solid: the mean of our runs; band: its 95% interval (from ${data.least} seeds on); thin: each seed; hollow: the paper, after the last
      task. Point at a line for its mean, interval, n and run ids.</p>
    <div class="menus"><label>accuracy matrix of <select class="of"></select></label> <label>seed <select class="seed"></select></label></div>
    <div class="plot matrix"></div>
    <p class="note">Download the tidy table: <a class="some" href="#" download="erlib_shown.csv">the runs shown above (csv)</a>,
      <a class="all" href="#" download="erlib_runs.csv">all runs (csv)</a>.</p>`;
  const find = (name) => root.querySelector(name);
  const options = (select, pairs) => { select.innerHTML = pairs.map(([value, text]) => `<option value="${value}">${text}</option>`).join(""); };

  function button(parent, text, pressed, react) {
    const made = document.createElement("button");
    made.type = "button"; made.innerHTML = text; made.setAttribute("aria-pressed", pressed);
    made.onclick = react;
    parent.append(made);
    return made;
  }
  function update() {
    const places = bench().places, labels = [...new Set(places.map((place) => place.row))];
    if (!bench().sizes.includes(choice.size)) choice.size = bench().sizes[0] ?? null;
    find(".sizes").innerHTML = find(".rows").innerHTML = "";
    for (const size of bench().sizes) button(find(".sizes"), size, size === choice.size, () => { choice.size = size; update(); });
    for (const label of labels) {
      const place = places.find((p) => p.row === label), on = choice.rows.has(label);
      const made = button(find(".rows"), `<i style="background:${on ? place.colour : "transparent"}"></i>${label}`, on, () => {
        if (!choice.rows.delete(label)) choice.rows.add(label);
        update();
      });
      if (on) made.style.borderColor = place.colour;
    }
    const now = [...new Set(shown().map((place) => place.row))];
    if (!now.includes(choice.of)) choice.of = now.includes("ER-Ring") ? "ER-Ring" : now[0] ?? null;
    options(find(".of"), now.map((label) => [label, label]));
    find(".of").value = choice.of;
    const runs = shown().find((place) => place.row === choice.of)?.runs ?? [];
    if (!runs.some((run) => String(run.seed) === choice.seed)) choice.seed = "mean";
    options(find(".seed"), [["mean", "mean"], ...runs.map((run) => [run.seed, run.seed])]);
    find(".seed").value = choice.seed;
    drawCurves();
    drawMatrix();
  }
  load.then(() => {
    options(find(".benchmark"), data.benchmarks.map((one, i) => [i, one.title]));
    options(find(".metric"), Object.entries(data.metrics));
    find(".benchmark").onchange = (event) => { choice.benchmark = Number(event.target.value); update(); };
    find(".metric").onchange = (event) => { choice.metric = event.target.value; update(); };
    find(".seeds").onchange = (event) => { choice.seeds = event.target.checked; update(); };
    find(".of").onchange = (event) => { choice.of = event.target.value; update(); };
    find(".seed").onchange = (event) => { choice.seed = event.target.value; update(); };
    offer(find(".some"), () => csv([bench()], (place) => shown().includes(place)));
    offer(find(".all"), () => csv(data.benchmarks, () => true));
    update();
  }, () => { root.innerHTML = "<p>The book's copy of plotly.js is missing: build the book with <code>python -m erlib book</code>.</p>"; });
}
