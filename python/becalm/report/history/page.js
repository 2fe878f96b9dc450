// Draws a graph for each benchmark of a project's history. All text is set as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const total = data.sessions.length, HIGH = 176, LEFT = 62, RIGHT = 8, TOP = 18, LOW = 20;
  let from = 0, to = Math.max(1, total - 1);
  const graphs = [];
  const NS = "http://www.w3.org/2000/svg";

  function shape(parent, kind, attributes, text) {
    const made = document.createElementNS(NS, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  function element(parent, kind, text, name) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    parent.appendChild(made);
    return made;
  }

  // Hues a golden angle apart: however many machines there are, those next to each other differ.
  const owned = (machine, name) => ({class: `${name} own`, style: `--hue: ${Math.round(226 + machine * 137.508) % 360}`});

  function ticks(low, high) {
    const span = high - low || Math.abs(high) || 1;
    const step = 10 ** Math.floor(Math.log10(span / 3));
    const size = [1, 2, 5, 10].map(each => each * step).find(each => span / each <= 4);
    const found = [];
    for (let value = Math.ceil(low / size) * size; value <= high; value += size) found.push(value);
    return found;
  }

  function shown(value, unit) {
    if (unit !== "ns") return Number(value.toPrecision(4)).toString();
    for (const [name, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
      if (Math.abs(value) >= size) return Number((value / size).toPrecision(4)) + " " + name;
    return Number(value.toPrecision(4)) + " ns";
  }

  function draw(graph) {
    const wide = graph.svg.clientWidth || 600, own = graph.benchmark;
    graph.svg.replaceChildren();
    graph.pick = graph.chosen = null;
    graph.svg.setAttribute("viewBox", `0 0 ${wide} ${HIGH}`);
    const points = own.points.filter(each => each[0] >= from && each[0] <= to);
    const x = at => LEFT + (at - from) / (to - from) * (wide - LEFT - RIGHT);
    graph.x = x;
    graph.at = pixel => from + (pixel - LEFT) / (wide - LEFT - RIGHT) * (to - from);
    if (!points.length) {
      shape(graph.svg, "text", {x: LEFT, y: HIGH / 2}, "not measured at these commits");
      return;
    }
    // An interval that is not known has no ends, and no band.
    const known = each => each[2] !== null && each[3] !== null;
    let low = Math.min(...points.map(each => each[2] ?? each[1])), high = Math.max(...points.map(each => each[3] ?? each[1]));
    // Scatter below one percent is not drawn as large as a mountain.
    const least = 0.02 * Math.abs(points[0][1]);
    if (high - low < least) { const middle = (high + low) / 2; low = middle - least / 2; high = middle + least / 2; }
    const y = value => TOP + (high - value) / (high - low) * (HIGH - TOP - LOW);
    graph.y = y;
    for (const value of ticks(low, high)) {
      shape(graph.svg, "line", {class: "axis", x1: LEFT, x2: wide - RIGHT, y1: y(value), y2: y(value)});
      shape(graph.svg, "text", {x: LEFT - 6, y: y(value) + 4, "text-anchor": "end"}, shown(value, own.unit));
    }
    const ends = [points[0], points[points.length - 1]];
    shape(graph.svg, "text", {x: LEFT, y: HIGH - 4}, data.sessions[ends[0][0]].commit);
    if (ends[1] !== ends[0])
      shape(graph.svg, "text", {x: wide - RIGHT, y: HIGH - 4, "text-anchor": "end"}, data.sessions[ends[1][0]].commit);
    // Sessions of different machines are not joined by a line.
    let run = [];
    const runs = [run];
    for (const each of points) {
      if (run.length && data.sessions[run[run.length - 1][0]].machine !== data.sessions[each[0]].machine)
        runs.push(run = []);
      run.push(each);
    }
    for (const each of runs) {
      const machine = data.sessions[each[0][0]].machine;
      let band = [];
      for (const p of [...each, null]) {
        if (p && known(p)) { band.push(p); continue; }
        const upper = band.map(q => `${x(q[0])},${y(q[3])}`), lower = band.map(q => `${x(q[0])},${y(q[2])}`).reverse();
        if (band.length > 1) shape(graph.svg, "polygon", {...owned(machine, "band"), points: [...upper, ...lower].join(" ")});
        // Alone between two that are not known it is a bar.
        else if (band.length) shape(graph.svg, "line", {...owned(machine, "bar95"), x1: x(band[0][0]), x2: x(band[0][0]), y1: y(band[0][2]), y2: y(band[0][3])});
        band = [];
      }
      shape(graph.svg, "polyline", {...owned(machine, "line"), points: each.map(p => `${x(p[0])},${y(p[1])}`).join(" ")});
    }
    const radius = points.length > wide / 6 ? 1.5 : 2.6;
    for (const each of points)
      shape(graph.svg, "circle", {
        ...owned(data.sessions[each[0]].machine, "dot"), cx: x(each[0]), cy: y(each[1]), r: radius, ...(known(each) ? {} : {"fill-opacity": 0.35}),
      });
    let taken = -Infinity;
    for (const change of [...own.changes, ...data.together.map(each => ({...each, size: "all"}))]) {
      if (change.at < from || change.at > to) continue;
      const kind = change.worse ? "worse" : "better", place = x(change.at - 0.5);
      const mark = shape(graph.svg, "line", {class: `mark ${kind}`, x1: place, x2: place, y1: TOP - 4, y2: HIGH - LOW});
      shape(mark, "title", {}, change.text);
      const last = place > wide - 110;
      if (place - (last ? 110 : 0) >= taken) {
        shape(graph.svg, "text", {
          class: kind, x: place + (last ? -4 : 4), y: TOP - 6, "text-anchor": last ? "end" : "start",
        }, change.size);
        taken = place + 110;
      }
    }
    graph.pick = shape(graph.svg, "circle", {class: "pick", r: 4, visibility: "hidden"});
    graph.chosen = shape(graph.svg, "rect", {class: "chosen", y: TOP, height: HIGH - TOP - LOW, visibility: "hidden"});
  }

  function nearest(graph, pixel) {
    // The pointer may be there before the graph is.
    if (!graph.at) return null;
    const wanted = graph.at(pixel);
    let found = null;
    for (const each of graph.benchmark.points)
      if (each[0] >= from && each[0] <= to && (!found || Math.abs(each[0] - wanted) < Math.abs(found[0] - wanted)))
        found = each;
    return found;
  }

  function tell(graph, point, touched) {
    for (const each of graphs) hush(each);
    if (!point || !graph.pick) return;
    const session = data.sessions[point[0]];
    graph.pick.setAttribute("cx", graph.x(point[0]));
    graph.pick.setAttribute("cy", graph.y(point[1]));
    graph.pick.setAttribute("visibility", "visible");
    const tip = graph.tip = element(graph.figure, "div", undefined, "tip");
    tip.setAttribute("role", "status");
    const title = element(tip, "b", `${point[6]} · `);
    // A finger cannot click the session without covering it: what it opens is a link in what is told.
    const commit = element(title, touched && session.link ? "a" : "span", session.commit);
    if (commit.tagName === "A") {
      commit.href = session.link;
      commit.target = "_blank";
      commit.rel = "noopener noreferrer";
    }
    if (session.subject) element(tip, "span", session.subject);
    element(tip, "div", `${session.when} · ${data.machines[session.machine]} · ${point[4]} runs` +
      (point[2] === null || point[3] === null ? ", too few for an interval" : "") +
      (point[5] ? `, ${point[5]} failed` : "") + (session.changed ? " · with changes in no commit" : ""));
    for (const each of graph.benchmark.changes) if (each.at === point[0]) element(tip, "div", each.text);
    const width = graph.figure.clientWidth, place = graph.x(point[0]);
    tip.style.top = "2rem";
    if (place > width / 2) tip.style.right = `${width - place + 10}px`;
    else tip.style.left = `${place + 10}px`;
    graph.told = point[0];
  }

  function hush(graph) {
    if (graph.tip) graph.tip.remove();
    graph.tip = null;
    if (graph.pick) graph.pick.setAttribute("visibility", "hidden");
  }

  function open(session) {
    if (session && session.link) window.open(session.link, "_blank", "noopener,noreferrer");
  }

  function zoom(first, last) {
    const span = Math.max(2, Math.min(total - 1, last - first));
    from = Math.round(Math.max(0, Math.min(first, total - 1 - span)));
    to = Math.round(Math.max(from + Math.min(2, total - 1), from + span));
    for (const each of graphs) { hush(each); if (each.near) draw(each); }
  }

  function heard(graph) {
    const svg = graph.svg;
    let begun = null, opening;
    // Within the graph also where the mouse is dragged beyond it.
    const pixel = event => Math.max(LEFT, Math.min(svg.clientWidth - RIGHT, event.clientX - svg.getBoundingClientRect().left));
    const dragged = event => begun !== null && Math.abs(pixel(event) - begun) > 6 && event.pointerType === "mouse";
    const leave = () => {
      begun = null;
      hush(graph);
      if (graph.chosen) graph.chosen.setAttribute("visibility", "hidden");
    };
    svg.addEventListener("pointerdown", event => {
      begun = pixel(event);
      if (event.pointerType === "mouse") svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", event => {
      const here = pixel(event);
      if (!dragged(event)) return tell(graph, nearest(graph, here));
      hush(graph);
      if (!graph.chosen) return;
      graph.chosen.setAttribute("x", Math.min(begun, here));
      graph.chosen.setAttribute("width", Math.abs(here - begun));
      graph.chosen.setAttribute("visibility", "visible");
    });
    svg.addEventListener("pointerup", event => {
      const here = pixel(event);
      if (dragged(event) && graph.at) zoom(graph.at(Math.min(begun, here)), graph.at(Math.max(begun, here)));
      else {
        const point = nearest(graph, here);
        tell(graph, point, event.pointerType !== "mouse");
        // A second click may follow, which shows all commits and opens none.
        clearTimeout(opening);
        if (point && event.pointerType === "mouse") opening = setTimeout(() => open(data.sessions[point[0]]), 250);
      }
      begun = null;
    });
    // A finger leaves when it is lifted; what it pointed at stays told until it points elsewhere.
    svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") leave(); else begun = null; });
    svg.addEventListener("pointercancel", leave);
    svg.addEventListener("dblclick", () => { clearTimeout(opening); zoom(0, total - 1); });
    svg.addEventListener("keydown", event => {
      const points = graph.benchmark.points.filter(each => each[0] >= from && each[0] <= to);
      const place = points.findIndex(each => each[0] === graph.told);
      if (event.key === "ArrowRight") tell(graph, points[Math.min(points.length - 1, place + 1)]);
      else if (event.key === "ArrowLeft") tell(graph, points[Math.max(0, place - 1)]);
      else if (event.key === "Enter") open(data.sessions[graph.told]);
      else if (event.key === "Escape") hush(graph);
      else return;
      event.preventDefault();
    });
  }

  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const graph = graphs.find(each => each.svg === entry.target);
      graph.near = entry.isIntersecting;
      if (graph.near) draw(graph);
    }
  }, {rootMargin: "400px"});

  if (data.machines.length > 1) {
    const list = document.getElementById("machines");
    list.hidden = false;
    data.machines.forEach((name, machine) => {
      const one = element(list, "span");
      shape(shape(one, "svg", {viewBox: "0 0 10 10", "aria-hidden": "true"}), "circle", {...owned(machine, "dot"), fill: "currentColor", cx: 5, cy: 5, r: 5});
      one.append(` ${name}`);
    });
  }

  const room = document.getElementById("graphs");
  for (const benchmark of data.benchmarks) {
    const figure = element(room, "section", undefined, "graph");
    const head = element(figure, "h3", benchmark.name);
    element(head, "small", benchmark.now);
    const svg = shape(figure, "svg", {tabindex: 0, role: "img"});
    svg.setAttribute("aria-label", `${benchmark.name}: ${benchmark.points.length} sessions, now ${benchmark.now}`);
    const graph = {benchmark, figure, svg, near: false};
    graphs.push(graph);
    heard(graph);
    seen.observe(svg);
  }

  function filter() {
    const wanted = document.getElementById("filter").value.toLowerCase();
    const only = document.getElementById("only").checked;
    for (const each of graphs)
      each.figure.hidden = !each.benchmark.name.toLowerCase().includes(wanted) || (only && !each.benchmark.changes.length);
  }
  document.getElementById("filter").addEventListener("input", filter);
  document.getElementById("only").addEventListener("change", filter);
  document.getElementById("in").addEventListener("click", () => zoom(from + (to - from) / 4, to - (to - from) / 4));
  document.getElementById("out").addEventListener("click", () => zoom(from - (to - from) / 2, to + (to - from) / 2));
  document.getElementById("all").addEventListener("click", () => zoom(0, total - 1));
  window.addEventListener("resize", () => { for (const each of graphs) if (each.near) draw(each); });
  document.getElementById("bar").hidden = document.getElementById("help").hidden = false;
})();
