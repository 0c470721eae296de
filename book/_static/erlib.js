/* A figure is wider than a phone: a tap or a click opens it alone, where it can be enlarged. */
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article .cell_output img")) {
    if (image.closest("a")) continue;
    const link = document.createElement("a");
    link.href = image.src;
    link.className = "erlib-figure";
    link.title = "Open the figure alone";
    image.replaceWith(link);
    link.append(image);
  }
});
