// Looks at each page of `wanted` at each width, in a frame of that width, and leaves what it saw in the title.
"use strict";
(async () => {
  const wanted = JSON.parse(document.getElementById("wanted").textContent), seen = [];
  const soon = () => new Promise(done => setTimeout(done, 60));
  // Drawing goes before a task of this kind; on a busy machine it could wait for minutes behind others.
  const turn = () => scheduler.postTask(() => {}, {priority: "background"});

  // A frame was drawn, and all that observed before has been told. Timers would not wait for it: virtual time skips
  // ahead wherever no task is left, as fast as it can, and a busy machine draws later than that. So there is a task.
  async function shown(view) {
    let told = false;
    new view.IntersectionObserver(() => told = true).observe(view.document.body);
    while (!told) await turn();
  }

  function colour(text) {
    // "rgb(r, g, b)" or "rgba(r, g, b, a)", which is what computed styles give.
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return {r, g, b, a};
  }

  // https://www.w3.org/TR/WCAG21/#dfn-relative-luminance
  function luminance({r, g, b}) {
    const part = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  }

  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  function paper(view, element) {
    for (let each = element; each; each = each.parentElement) {
      const found = colour(view.getComputedStyle(each).backgroundColor);
      if (found.a === 1) return found;
    }
    return {r: 255, g: 255, b: 255};
  }

  function faint(view) {
    const found = [];
    for (const each of view.document.body.querySelectorAll("*")) {
      const own = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
      const style = view.getComputedStyle(each);
      if (!own || !each.getClientRects().length || style.visibility === "hidden" || /^(SCRIPT|STYLE|title)$/.test(each.tagName))
        continue;
      const ink = each.namespaceURI.endsWith("svg") ? style.fill : style.color;
      if (!ink.startsWith("rgb")) continue;
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const ratio = contrast(colour(ink), paper(view, each));
      if (ratio < (large ? 3 : 4.5)) found.push(`${each.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return found;
  }

  // What a hand does on a page of a history: points, zooms, filters.
  async function used(view) {
    const page = view.document, svg = page.querySelector("#graphs svg");
    if (!svg) return null;
    const dots = () => svg.querySelectorAll(".dot").length;
    const box = svg.getBoundingClientRect();
    const point = (kind, pointer) => svg.dispatchEvent(new view.PointerEvent(kind, {
      clientX: box.left + box.width * 0.8, clientY: box.top + 40, pointerType: pointer, bubbles: true}));
    const found = {graphs: page.querySelectorAll(".graph").length, dots: dots(), marks: svg.querySelectorAll(".mark").length};
    point("pointermove", "mouse");
    found.hues = new Set([...svg.querySelectorAll(".line")].map(each => view.getComputedStyle(each).stroke)).size;
    found.told = (page.querySelector(".tip") || {}).textContent;
    point("pointerdown", "touch");
    point("pointerup", "touch");
    found.link = (page.querySelector(".tip a") || {}).href;
    page.getElementById("in").click();
    await soon();
    found.zoomed = dots();
    page.getElementById("all").click();
    await soon();
    found.back = dots();
    page.getElementById("filter").value = "no such benchmark";
    page.getElementById("filter").dispatchEvent(new view.Event("input"));
    found.left = [...page.querySelectorAll(".graph")].filter(each => !each.hidden).length;
    page.getElementById("filter").value = "";
    page.getElementById("filter").dispatchEvent(new view.Event("input"));
    return found;
  }

  for (const name of wanted.pages) for (const width of wanted.widths) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `border:0;width:${width}px;height:${wanted.height}px`;
    const loaded = new Promise(done => frame.onload = done);
    frame.src = name;
    document.body.replaceChildren(frame);
    await loaded;
    const view = frame.contentWindow, root = view.document.documentElement, thrown = [];
    view.addEventListener("error", event => thrown.push(event.message));
    await soon();
    // The graphs of a history are drawn when they are seen.
    if (view.document.querySelector("#graphs svg")) await shown(view);
    seen.push({
      name, width, wider: root.scrollWidth - root.clientWidth, paper: luminance(paper(view, view.document.body)),
      text: view.document.body.innerText.length, pictures: view.document.querySelectorAll("svg").length,
      faint: faint(view), used: await used(view), thrown,
    });
  }
  document.title = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
})();
