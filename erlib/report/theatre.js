(root, data) => {
  // The memory theatre. `data` is what erlib.report.theatre recorded; nothing is computed here but what is in view.
  const COLOURS = ["#4477aa", "#228833", "#b8a000", "#ee6677", "#aa3377", "#33a6cc", "#7a7a7a", "#994f00", "#5b4fc4", "#009e73"];
  const LOST = "#d55e00", NEW = "#0b9fd0", SIZE = 28;
  const total = data.labels.length, steps = data.writers[0].steps.length;
  const task = (example) => Math.floor(example / data.perTask);
  const colour = (t) => COLOURS[t % COLOURS.length];
  const seenAt = (step) => Math.min(total, step * data.batch);
  const states = data.writers.map(() => ({ step: 0, slots: new Array(data.slots).fill(-1), changed: new Map() }));
  let step = Math.round(0.55 * steps), timer = null, sheet = null;  // a moment at which the six differ most

  root.innerHTML = `
    <div class="bar">
      <button class="play" type="button">▶ Play</button>
      <button class="back" type="button" aria-label="one step back">‹</button>
      <input class="step" type="range" min="0" max="${steps}" value="${step}" aria-label="step of the stream">
      <button class="on" type="button" aria-label="one step on">›</button>
      <label>show <select class="order"><option value="class">by class and task</option><option value="slot">slot by slot</option></select></label>
    </div>
    <p class="where" aria-live="polite"></p>
    <canvas class="stream" role="img" aria-label="the stream, and the mini-batch that arrives"></canvas>
    <div class="panels"></div>
    <p class="legend"></p>`;
  const find = (name) => root.querySelector(name);
  const slider = find(".step"), play = find(".play"), order = find(".order");
  const panels = data.writers.map((writer) => {
    const panel = document.createElement("div");
    panel.innerHTML = `<h4></h4><p class="facts"></p><canvas role="img"></canvas>`;
    find(".panels").append(panel);
    panel.querySelector("canvas").setAttribute("aria-label", `what ${writer.title} holds`);
    return panel;
  });
  const names = [...Array(data.tasks).keys()].map((t) => `<i style="background:${colour(t)}"></i>task ${t + 1}`);
  find(".legend").innerHTML = `${names.join("")}<br><i style="border:2px solid ${NEW}"></i>just written
    <i style="border:2px solid ${LOST}"></i>just overwritten <b style="color:${LOST};margin-left:.7em">×</b> seen, and lost;
    a number counts the examples of a class that holds several. The strip below each memory is the stream: a line for each
    example that is still held.`;

  function moveTo(state, writer, target) {
    if (target === state.step) return;
    if (target < state.step) { state.step = 0; state.slots.fill(-1); }
    state.changed = new Map();  // slots written in the last step, with what they held before
    for (; state.step < target; state.step++) {
      const changes = writer.steps[state.step];
      const last = state.step === target - 1;
      for (let i = 0; i < changes.length; i += 2) {
        if (last) state.changed.set(changes[i], state.slots[changes[i]]);
        state.slots[changes[i]] = changes[i + 1];
      }
    }
  }

  function prepare(canvas, height) {
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px sans-serif"; pen.textBaseline = "middle";
    return pen;
  }

  const ink = () => getComputedStyle(root).color;
  let tinted = null, tint = "";
  function digits() {  // the sheet as ink on nothing, so that it is legible on a light page and on a dark one
    if (tinted && tint === ink()) return tinted;
    tint = ink();
    const canvas = document.createElement("canvas");
    canvas.width = sheet.width; canvas.height = sheet.height;
    const pen = canvas.getContext("2d");
    pen.drawImage(sheet, 0, 0);
    const picture = pen.getImageData(0, 0, canvas.width, canvas.height);
    const [r, g, b] = tint.match(/[\d.]+/g).map(Number);
    for (let i = 0; i < picture.data.length; i += 4) {
      picture.data[i + 3] = picture.data[i];
      picture.data[i] = r; picture.data[i + 1] = g; picture.data[i + 2] = b;
    }
    pen.putImageData(picture, 0, 0);
    return (tinted = canvas);
  }

  function digit(pen, example, x, y, size) {
    pen.globalAlpha = 0.25; pen.fillStyle = colour(task(example)); pen.fillRect(x, y, size, size); pen.globalAlpha = 1;
    const image = data.images[example], column = image % data.columns, row = Math.floor(image / data.columns);
    pen.drawImage(digits(), column * SIZE, row * SIZE, SIZE, SIZE, x, y, size, size);
    pen.fillStyle = colour(task(example)); pen.fillRect(x, y + size - 2.5, size, 2.5);
  }

  function frame(pen, x, y, size, stroke) {
    pen.strokeStyle = stroke; pen.lineWidth = 2; pen.strokeRect(x + 1, y + 1, size - 2, size - 2);
  }

  function strip(pen, y, height, width, held) {
    for (let t = 0; t < data.tasks; t++) {
      const from = (t * data.perTask / total) * width, wide = (data.perTask / total) * width;
      pen.globalAlpha = 0.18; pen.fillStyle = colour(t); pen.fillRect(from, y, wide - 1, height); pen.globalAlpha = 1;
    }
    for (const example of held) {
      pen.fillStyle = colour(task(example));
      pen.fillRect(((example + 0.5) / total) * width - 0.75, y, 1.5, height);
    }
    pen.fillStyle = ink(); pen.fillRect((seenAt(step) / total) * width - 1, y - 2, 2, height + 4);
  }

  function drawStream() {
    const canvas = find(".stream"), width = canvas.clientWidth;
    const size = Math.min(40, (width - 4) / data.batch - 3), pen = prepare(canvas, size + 34);
    strip(pen, 3, 12, width, []);
    data.writers.forEach((writer) => {
      if (writer.switch === null) return;
      const x = (seenAt(writer.switch) / total) * width;
      pen.fillStyle = LOST; pen.beginPath(); pen.moveTo(x, 17); pen.lineTo(x - 5, 25); pen.lineTo(x + 5, 25); pen.fill();
      pen.textAlign = x > width / 2 ? "right" : "left";
      pen.fillText(`${writer.title} switches`, x + (x > width / 2 ? -9 : 9), 22);
    });
    const first = seenAt(step - 1);
    for (let i = first; step > 0 && i < seenAt(step); i++) digit(pen, i, 1 + (i - first) * (size + 3), 32, size);
  }

  function drawPanel(panel, state, writer) {
    const canvas = panel.querySelector("canvas"), width = canvas.clientWidth, seen = seenAt(step);
    const byClass = order.value === "class", left = byClass ? 16 : 0;
    const columns = byClass ? 10 : Math.max(10, Math.ceil(Math.sqrt(data.slots)));
    const rows = byClass ? data.tasks : Math.ceil(data.slots / columns);
    const size = Math.min(34, (width - left) / columns - 2), pitch = size + 2, top = byClass ? 14 : 0;
    const pen = prepare(canvas, top + rows * pitch + 26);
    const held = state.slots.filter((example) => example >= 0);
    const of = (t, label) => held.filter((e) => task(e) === t && data.labels[e] === String(label));
    const arrived = new Set([...state.changed.keys()].map((slot) => state.slots[slot]));
    const gone = [...state.changed.values()].filter((e) => e >= 0 && !held.includes(e));
    const known = new Set([...data.labels.slice(0, seen)].map((label, e) => `${task(e)}/${label}`));
    const spots = [];
    let lost = 0;
    for (let t = 0; t < data.tasks; t++)
      for (let label = 0; label < 10; label++)
        if (known.has(`${t}/${label}`) && !of(t, label).length) lost++;
    if (byClass) drawClasses(); else drawSlots();
    strip(pen, top + rows * pitch + 8, 12, width, held);
    canvas.title = ""; canvas.onmousemove = (event) => {
      const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      const spot = spots.find((s) => x >= s.x && x < s.x + size && y >= s.y && y < s.y + size);
      canvas.title = spot ? spot.text : "";
    };
    const age = held.length ? Math.round(held.reduce((sum, e) => sum + seen - 1 - e, 0) / held.length) : 0;
    panel.querySelector(".facts").innerHTML =
      `${held.length} of ${data.slots} slots · ${known.size - lost} of ${known.size} classes, ` +
      `<b class="${lost ? "lost" : ""}">${lost} lost</b> · mean age ${age}`;
    const switched = writer.switch !== null && step >= writer.switch;
    const badge = writer.switch === null ? "" : switched
      ? `<span class="switched">balanced since example ${seenAt(writer.switch)}</span>`
      : `<span class="waiting">still a reservoir</span>`;
    panel.querySelector("h4").innerHTML = writer.title + badge;
    panel.dataset.lost = lost; panel.dataset.held = held.length; panel.dataset.written = arrived.size;

    function note(example, x, y) {
      const word = arrived.has(example) ? ", just written" : "";
      spots.push({ x, y, text: `digit ${data.labels[example]} of task ${task(example) + 1}, example ${example + 1} of the stream, age ${seen - 1 - example}${word}` });
    }
    function drawClasses() {
      pen.textAlign = "center"; pen.fillStyle = ink();
      for (let label = 0; label < 10; label++) pen.fillText(label, left + label * pitch + size / 2, 6);
      for (let t = 0; t < data.tasks; t++) {
        pen.fillStyle = ink(); pen.textAlign = "left"; pen.fillText(t + 1, 2, top + t * pitch + size / 2);
        for (let label = 0; label < 10; label++) {
          const x = left + label * pitch, y = top + t * pitch, here = of(t, label);
          const evicted = gone.some((e) => task(e) === t && data.labels[e] === String(label));
          if (here.length) {
            const newest = Math.max(...here);
            digit(pen, newest, x, y, size); note(newest, x, y);
            if (here.length > 1) {
              pen.fillStyle = colour(t); pen.fillRect(x + size - 11, y, 11, 12);
              pen.fillStyle = "#fff"; pen.textAlign = "center"; pen.fillText(here.length, x + size - 5.5, y + 6.5);
            }
          } else {
            pen.strokeStyle = "#8888"; pen.lineWidth = 1; pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
            if (known.has(`${t}/${label}`)) {
              pen.strokeStyle = LOST; pen.lineWidth = 2; pen.beginPath();
              pen.moveTo(x + size * 0.3, y + size * 0.3); pen.lineTo(x + size * 0.7, y + size * 0.7);
              pen.moveTo(x + size * 0.7, y + size * 0.3); pen.lineTo(x + size * 0.3, y + size * 0.7); pen.stroke();
            }
          }
          if (here.some((e) => arrived.has(e))) frame(pen, x, y, size, NEW); else if (evicted) frame(pen, x, y, size, LOST);
        }
      }
    }
    function drawSlots() {
      state.slots.forEach((example, slot) => {
        const x = (slot % columns) * pitch, y = Math.floor(slot / columns) * pitch;
        if (example >= 0) { digit(pen, example, x, y, size); note(example, x, y); }
        else { pen.strokeStyle = "#8888"; pen.lineWidth = 1; pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1); }
        if (state.changed.has(slot)) frame(pen, x, y, size, state.changed.get(slot) >= 0 ? LOST : NEW);
      });
    }
  }

  function draw() {
    if (!sheet || !root.clientWidth) return;
    slider.value = step;
    const now = seenAt(step), t = step ? task(now - 1) + 1 : 0;
    find(".where").textContent = step ? `example ${now} of ${total}, task ${t} of ${data.tasks}` : "before the first example";
    drawStream();
    panels.forEach((panel, i) => { moveTo(states[i], data.writers[i], step); drawPanel(panel, states[i], data.writers[i]); });
  }
  function go(target) { step = Math.max(0, Math.min(steps, target)); draw(); }
  function stop() { clearInterval(timer); timer = null; play.textContent = "▶ Play"; }

  play.onclick = () => {
    if (timer) return stop();
    if (step === steps) go(0);
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => { go(step + 1); if (step === steps) stop(); }, 220);
  };
  slider.oninput = () => { stop(); go(Number(slider.value)); };
  find(".back").onclick = () => { stop(); go(step - 1); };
  find(".on").onclick = () => { stop(); go(step + 1); };
  order.onchange = draw;
  new ResizeObserver(draw).observe(root);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const image = new Image();
  image.onload = () => { sheet = image; draw(); };
  image.src = data.sheet;
}
