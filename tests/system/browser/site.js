// Opens the site of `wanted` at each width, clicks and filters, and leaves what it saw in the title.
"use strict";
(async () => {
  const wanted = JSON.parse(document.getElementById("wanted").textContent), seen = [], thrown = [];
  const soon = () => new Promise(done => setTimeout(done, 60));

  async function opened(width, address) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `border:0;width:${width}px;height:900px`;
    const loaded = new Promise(done => frame.onload = done);
    frame.src = address;
    document.body.replaceChildren(frame);
    await loaded;
    await soon();
    return frame;
  }

  function look(frame) {
    const view = frame.contentWindow, root = view.document.documentElement;
    return {
      title: view.document.title,
      wider: root.scrollWidth - root.clientWidth,
      paper: view.getComputedStyle(view.document.body).backgroundColor,
      images: view.document.images.length,
      resources: view.performance.getEntriesByType("resource").map(entry => entry.name),
    };
  }

  async function clicked(frame, link) {
    const loaded = new Promise(done => frame.onload = done);
    link.click();
    await loaded;
    await soon();
    return look(frame);
  }

  for (const width of wanted.widths) {
    const found = {width};
    let frame = await opened(width, "index.html");
    frame.contentWindow.addEventListener("error", event => thrown.push(event.message));
    let page = frame.contentWindow.document;
    const rows = () => [...page.querySelectorAll("#list tbody tr")].filter(row => row.offsetHeight > 0).length;
    const set = async (name, value) => {
      const field = page.getElementById("filters").elements[name];
      field.value = value;
      field.dispatchEvent(new frame.contentWindow.Event("input", {bubbles: true}));
      await soon();
    };
    found.index = look(frame);
    found.all = rows();
    await set("find", wanted.word);
    found.found = rows();
    found.told = page.getElementById("shown").textContent;
    await set("find", "SPIN 21MS");
    found.by_command = rows();
    await set("find", wanted.word);
    await set("kind", "compare");
    found.compared = rows();
    found.kept = frame.contentWindow.location.hash;
    frame = await opened(width, "index.html" + found.kept);
    page = frame.contentWindow.document;
    found.again = rows();
    await set("find", "");
    await set("kind", "");
    found.back = rows();
    await set("kind", "compare");
    const link = [...page.querySelectorAll("#list th a")].find(each => each.getClientRects().length);
    found.study = await clicked(frame, link);
    page = frame.contentWindow.document;
    found.plots = page.querySelectorAll("svg.plot").length;
    found.table = [...page.links].map(each => each.getAttribute("href"));
    frame = await opened(width, "benchmarks.html");
    page = frame.contentWindow.document;
    found.benchmarks = look(frame);
    found.sparks = page.querySelectorAll("svg.spark").length;
    found.first = page.querySelector("#list th a").textContent;
    found.history = await clicked(frame, page.querySelector("#list th a"));
    found.graphs = frame.contentWindow.document.querySelectorAll("#graphs svg").length;
    seen.push(found);
  }
  document.title = btoa(unescape(encodeURIComponent(JSON.stringify({seen, thrown}))));
})();
