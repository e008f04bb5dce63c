"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const sizes = data.sizes;
  const at = (id) => document.getElementById(id);
  const canvas = at("scatter");
  const PALETTE = ["#3a6ea5", "#c8762b", "#4e8f5a", "#b14a55", "#7d65a8", "#8a6a52", "#c66a9d", "#5f9ea8",
    "#a59a33", "#56627a", "#d1495b", "#2f8f83"];
  const colour = (i) => i < PALETTE.length ? PALETTE[i] : `hsl(${(i * 137.508) % 360} 45% ${i % 2 ? 46 : 58}%)`;
  let current = 0;
  let highlighted = -1;

  // Numbers and elements.
  const number = (v) => v === null ? "none" : v === 0 ? "0" :
    Math.abs(v) >= 1e9 || Math.abs(v) < 1e-4 ? v.toExponential(4) :
      v.toLocaleString("en-GB", { maximumSignificantDigits: Math.abs(v) >= 1e6 ? 9 : 6 });
  const brief = (v) => number(Number(v.toPrecision(Math.abs(v) >= 1000 ? 6 : 4)));
  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
  };
  const element = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const SVG = "http://www.w3.org/2000/svg";
  const shape = (parent, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const picture = (box, width, height, title) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", title);
    box.replaceChildren(svg);
    return svg;
  };
  const ticks = (low, high, count) => {
    const raw = (high - low) / count;
    if (!(raw > 0) || !isFinite(raw)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
    return found;
  };
  const short = (v) => Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-3) ? Number(v.toPrecision(3)).toExponential() :
    Number(v.toPrecision(6)).toLocaleString("en-GB", { maximumFractionDigits: 6 });

  // The scatter plot.
  const xs = unpack(data.picture.x), ys = unpack(data.picture.y);
  const labels = sizes.map((size) => unpack(size.labels));
  const EDGE = { left: 58, right: 18, top: 16, bottom: 44 };
  let place = null;
  const drawScatter = () => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), muted = style.getPropertyValue("--muted");
    const strength = Number(style.getPropertyValue("--strength"));
    const line = style.getPropertyValue("--faint"), card = style.getPropertyValue("--card");
    const { low, span } = data.picture;
    const width = canvas.parentElement.clientWidth;
    const shape = data.picture.alike ? Math.max(0.62, Math.min(0.86, span[1] / span[0] + 0.12)) : 0.8;
    const height = Math.round(Math.min(width * shape, 640));
    const ratio = Math.max(window.devicePixelRatio || 1, 2);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `12px ${style.getPropertyValue("--sans")}`;
    const w = width - EDGE.left - EDGE.right, h = height - EDGE.top - EDGE.bottom, ox = EDGE.left, oy = EDGE.top;
    const pad = 12;
    let sx = w - 2 * pad, sy = h - 2 * pad;
    if (data.picture.alike) {
      const unit = Math.min(sx / span[0], sy / span[1]);
      sx = unit * span[0];
      sy = unit * span[1];
    }
    const px = (u) => ox + w / 2 + (u - 0.5) * sx, py = (u) => oy + h / 2 - (u - 0.5) * sy;
    place = { px, py };
    pen.fillStyle = muted;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    const from = (axis, length, scale) => [low[axis] + span[axis] * (0.5 - length / 2 / scale), low[axis] + span[axis] * (0.5 + length / 2 / scale)];
    pen.textAlign = "center";
    for (const t of ticks(...from(0, w, sx), 6)) {
      const x = px((t - low[0]) / span[0]);
      pen.beginPath(); pen.moveTo(x, oy); pen.lineTo(x, oy + h); pen.stroke();
      pen.fillText(short(t), x, oy + h + 16);
    }
    if (data.picture.axes[1]) {
      pen.textAlign = "right";
      for (const t of ticks(...from(1, h, sy), 6)) {
        const y = py((t - low[1]) / span[1]);
        pen.beginPath(); pen.moveTo(ox, y); pen.lineTo(ox + w, y); pen.stroke();
        pen.fillText(short(t), ox - 6, y + 4);
      }
    }
    pen.textAlign = "center";
    pen.fillText(data.picture.axes[0], ox + w / 2, height - 8);
    pen.save();
    pen.translate(13, oy + h / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(data.picture.axes[1], 0, 0);
    pen.restore();
    const size = sizes[current], own = labels[current];
    const radius = xs.length <= 400 ? 4.2 : xs.length <= 2500 ? 3 : 1.8;
    const groups = size.colours.map(() => []);
    for (let i = 0; i < own.length; i++) groups[own[i]].push(i);
    groups.forEach((members, label) => {
      pen.fillStyle = colour(size.colours[label]);
      pen.globalAlpha = highlighted >= 0 && highlighted !== label ? 0.1 : xs.length <= 2500 ? strength : strength - 0.15;
      pen.beginPath();
      for (const i of members) {
        const x = px(xs[i] / 65535), y = py(ys[i] / 65535);
        pen.moveTo(x + radius, y);
        pen.arc(x, y, radius, 0, 2 * Math.PI);
      }
      pen.fill();
    });
    pen.globalAlpha = 1;
    const many = size.centers.length > 60;
    pen.font = `600 11px ${style.getPropertyValue("--sans")}`;
    pen.textBaseline = "middle";
    size.centers.forEach(([u, v], label) => {
      if (highlighted >= 0 && highlighted !== label) return;
      const x = px(u), y = py(v), r = many ? 4 : label > 98 ? 12 : 9;
      pen.beginPath();
      pen.arc(x, y, r, 0, 2 * Math.PI);
      pen.fillStyle = card;
      pen.fill();
      pen.lineWidth = 2;
      pen.strokeStyle = colour(size.colours[label]);
      pen.stroke();
      pen.fillStyle = ink;
      if (!many) pen.fillText(String(label), x, y + 0.5);
    });
    canvas.setAttribute("aria-label", `Scatter plot of ${own.length} points in ${size.k} clusters. ${data.picture.words} The table below has the same clusters in numbers.`);
  };
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const mx = event.clientX - box.left, my = event.clientY - box.top;
    let best = -1, nearest = 144;
    for (let i = 0; i < xs.length; i++) {
      const dx = place.px(xs[i] / 65535) - mx, dy = place.py(ys[i] / 65535) - my;
      if (dx * dx + dy * dy < nearest) { nearest = dx * dx + dy * dy; best = i; }
    }
    const tip = at("tip");
    tip.hidden = best < 0;
    if (best < 0) return;
    tip.textContent = `${data.idName} ${data.picture.names[best]}, cluster ${labels[current][best]}`;
    tip.style.left = `${Math.min(mx + 14, box.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${my + 14}px`;
  });
  canvas.addEventListener("mouseleave", () => { at("tip").hidden = true; });

  // The cost of every k, with the band that the lower bounds leave.
  const drawCurve = () => {
    if (sizes.length < 2) { at("curvebox").hidden = true; return; }
    const W = 460, H = 250, L = 56, R = 12, T = 10, B = 34;
    const svg = picture(at("curve"), W, H, `Cost and lower bound for k = ${sizes[0].k} to ${sizes[sizes.length - 1].k}`);
    const top = Math.max(...sizes.map((s) => s.cost)) || 1;
    const first = sizes[0].k, last = sizes[sizes.length - 1].k;
    const x = (k) => L + (W - L - R) * (k - first) / (last - first), y = (v) => H - B - (H - B - T) * v / top;
    for (const t of ticks(0, top, 4)) {
      shape(svg, "line", { class: "grid", x1: L, x2: W - R, y1: y(t), y2: y(t) });
      shape(svg, "text", { x: L - 7, y: y(t) + 4, "text-anchor": "end" }, short(t));
    }
    const step = Math.max(1, Math.ceil((last - first) / 12));
    for (let k = first; k <= last; k += step) shape(svg, "text", { x: x(k), y: H - B + 17, "text-anchor": "middle" }, String(k));
    shape(svg, "text", { x: (L + W - R) / 2, y: H - 1, "text-anchor": "middle" }, "number of clusters k");
    const upper = sizes.map((s) => `${x(s.k)},${y(s.cost)}`), lower = sizes.map((s) => `${x(s.k)},${y(s.lower)}`);
    shape(svg, "polygon", { class: "band", points: [...upper, ...lower.slice().reverse()].join(" ") });
    shape(svg, "polyline", { class: "under", points: lower.join(" ") });
    shape(svg, "polyline", { class: "upper", points: upper.join(" ") });
    shape(svg, "line", { class: "now-line", x1: x(sizes[current].k), x2: x(sizes[current].k), y1: T, y2: H - B });
    sizes.forEach((s, i) => {
      shape(svg, "circle", { class: i === current ? "dot now" : "dot", cx: x(s.k), cy: y(s.cost), r: i === current ? 5.5 : sizes.length > 40 ? 2 : 3.2 });
    });
    const half = (W - L - R) / (last - first) / 2;
    sizes.forEach((s, i) => {
      const hit = shape(svg, "rect", { class: "hit", x: x(s.k) - half, y: T, width: 2 * half, height: H - B - T });
      shape(hit, "title", {}, `k = ${s.k}: cost ${number(s.cost)}, ${s.verdict}`);
      hit.addEventListener("click", () => show(i));
    });
  };

  // Upper and lower bound against time.
  const drawHistory = () => {
    const rows = sizes[current].history;
    at("historybox").hidden = rows.length === 0;
    if (rows.length === 0) return;
    const W = 460, H = 200, L = 56, R = 12, T = 28, B = 34;
    const svg = picture(at("history"), W, H, `Best cost and lower bound against time for k = ${sizes[current].k}`);
    const values = rows.flatMap((r) => [r[1], r[2]]).filter((v) => v !== null);
    const final = rows[rows.length - 1];
    let low = Math.min(...values), high = Math.max(...values);
    if (!(high > low)) { high += Math.abs(high) * 0.05 || 1; low -= Math.abs(low) * 0.05 || 1; }
    const end = final[0] > rows[0][0] ? final[0] : rows[0][0] + 1e-3, start = Math.min(0, rows[0][0]);
    const x = (t) => L + (W - L - R) * (t - start) / (end - start), y = (v) => H - B - (H - B - T) * (v - low) / (high - low);
    for (const t of ticks(low, high, 4)) {
      shape(svg, "line", { class: "grid", x1: L, x2: W - R, y1: y(t), y2: y(t) });
      shape(svg, "text", { x: L - 7, y: y(t) + 4, "text-anchor": "end" }, short(t));
    }
    for (const t of ticks(start, end, 5)) shape(svg, "text", { x: x(t), y: H - B + 17, "text-anchor": "middle" }, short(t));
    shape(svg, "text", { x: (L + W - R) / 2, y: H - 1, "text-anchor": "middle" }, "seconds");
    for (const [column, kind] of [[1, "upper"], [2, "under"]]) {
      const points = [];
      let before = null;
      for (const row of rows) {
        if (row[column] === null) continue;
        if (before !== null) points.push(`${x(row[0])},${y(before)}`);
        points.push(`${x(row[0])},${y(row[column])}`);
        before = row[column];
      }
      if (before === null) continue;
      points.push(`${x(end)},${y(before)}`);
      shape(svg, "polyline", { class: kind, points: points.join(" ") });
      if (points.length === 2) shape(svg, "circle", { class: "dot", cx: x(rows[0][0]), cy: y(before), r: 3 });
    }
    const legend = shape(svg, "g", {});
    shape(legend, "line", { class: "upper", x1: W - R - 196, x2: W - R - 172, y1: 6, y2: 6 });
    shape(legend, "text", { x: W - R - 166, y: 10 }, "best cost");
    shape(legend, "line", { class: "under", x1: W - R - 100, x2: W - R - 76, y1: 6, y2: 6 });
    shape(legend, "text", { x: W - R - 70, y: 10 }, "lower bound");
  };

  // How far everyone is from a centre, in units of the own fair radius.
  const drawFairness = () => {
    const fair = sizes[current].fairness;
    at("fairbox").hidden = at("fairfigure").hidden = fair === null;
    if (fair === null) return;
    at("fairness").textContent = fair.largest === null ? "unbounded" : number(fair.largest);
    const W = 620, H = 200, L = 56, R = 12, T = 24, B = 34;
    const svg = picture(at("fair"), W, H, "Histogram of the distance to the nearest centre divided by the fair radius");
    const top = Math.max(1, ...fair.counts);
    const x = (v) => L + (W - L - R) * v / fair.top, y = (v) => H - B - (H - B - T) * v / top;
    for (const t of ticks(0, top, 3)) {
      shape(svg, "line", { class: "grid", x1: L, x2: W - R, y1: y(t), y2: y(t) });
      shape(svg, "text", { x: L - 7, y: y(t) + 4, "text-anchor": "end" }, short(t));
    }
    const wide = fair.top / fair.counts.length;
    fair.counts.forEach((c, i) => shape(svg, "rect", { class: "bar", x: x(i * wide) + 0.5, y: y(c), width: Math.max(0.5, x(wide) - x(0) - 1), height: H - B - y(c) }));
    for (const t of ticks(0, fair.top, 6)) shape(svg, "text", { x: x(t), y: H - B + 17, "text-anchor": "middle" }, short(t));
    shape(svg, "text", { x: (L + W - R) / 2, y: H - 1, "text-anchor": "middle" }, "distance to the nearest centre / fair radius");
    for (const [value, text] of [[fair.beta, "asked"], [fair.promised, "proved limit"]]) {
      if (value === null) continue;
      shape(svg, "line", { class: "mark", x1: x(value), x2: x(value), y1: T - 8, y2: H - B });
      shape(svg, "text", { class: "strong", x: x(value), y: T - 12, "text-anchor": x(value) > W - 80 ? "end" : "middle" }, text);
    }
    at("fairwords").textContent = `${(100 * fair.within).toFixed(1)} % have a centre within ${number(fair.beta)} fair radii` +
      (fair.promised === null ? "; no limit was proved for all." : `; for everyone ${number(fair.promised)} is proved.`);
  };

  // The clusters in numbers.
  const fillTable = () => {
    const size = sizes[current], rows = size.clusters;
    const centres = rows.some((r) => r.centre !== ""), weights = rows.some((r) => r.weight !== null);
    const head = element("tr");
    const titles = ["cluster", "points", ...(weights ? ["weight"] : []), ...(centres ? [`centre (${data.idName})`] : []), "mean distance", "farthest", ...(rows[0].values.length ? data.columns : [])];
    titles.forEach((title, i) => head.append(element("th", { scope: "col", title, class: centres && i === (weights ? 3 : 2) ? "left" : "" }, title)));
    const largest = Math.max(...rows.map((r) => r.share));
    const body = rows.map((r) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = colour(size.colours[r.label]);
      const bar = element("i");
      bar.style.width = `${100 * r.share / largest}%`;
      const row = element("tr", { tabindex: "0" },
        element("td", {}, swatch, String(r.label)),
        element("td", {}, r.size.toLocaleString("en-GB"), element("span", { class: "meter", "aria-hidden": "true" }, bar)));
      if (weights) row.append(element("td", {}, number(r.weight)));
      if (centres) row.append(element("td", { class: "left", title: r.centre }, r.centre));
      row.append(element("td", {}, brief(r.mean)), element("td", {}, brief(r.farthest)));
      r.values.forEach((v) => row.append(element("td", {}, brief(v))));
      const mark = (label) => () => { highlighted = label; drawScatter(); };
      row.addEventListener("mouseenter", mark(r.label));
      row.addEventListener("focus", mark(r.label));
      row.addEventListener("mouseleave", mark(-1));
      row.addEventListener("blur", mark(-1));
      return row;
    });
    document.querySelector("#clusters thead").replaceChildren(head);
    document.querySelector("#clusters tbody").replaceChildren(...body);
    const notes = [];
    if (size.k > rows.length) notes.push(`The ${rows.length} largest of ${size.k} clusters.`);
    if (rows[0].values.length && data.moreColumns) notes.push(`The centres have ${data.moreColumns} more columns, which centers.csv holds.`);
    at("more").textContent = notes.join(" ");
  };

  const show = (index) => {
    current = Math.max(0, Math.min(sizes.length - 1, index));
    highlighted = -1;
    const size = sizes[current];
    at("slider").value = String(size.k);
    at("slider").setAttribute("aria-valuetext", `${size.k} clusters, cost ${number(size.cost)}, ${size.verdict}`);
    at("k").textContent = String(size.k);
    at("previous").disabled = current === 0;
    at("next").disabled = current === sizes.length - 1;
    at("suggested").setAttribute("aria-pressed", String(size.k === data.suggestion.k));
    at("statement").textContent = `${size.k} ${size.k === 1 ? "cluster" : "clusters"}: ${size.verdict}.`;
    document.querySelector(".statement").className = `statement ${size.verdict.startsWith("optimal") ? "proved" : size.verdict.startsWith("no") ? "open" : ""}`;
    at("cost").textContent = number(size.cost);
    at("lower").textContent = size.lower > 0 || size.cost === 0 ? number(size.lower) : "nothing proved";
    at("gap").textContent = size.gap;
    at("certificate").replaceChildren(...size.certificate.map((line) => element("p", {}, line)));
    drawScatter();
    drawCurve();
    drawHistory();
    drawFairness();
    fillTable();
    document.documentElement.dataset.k = String(size.k);
    try { history.replaceState(null, "", `#k=${size.k}`); } catch { /* some places forbid it */ }
  };
  const nearest = (k) => sizes.reduce((best, s, i) => Math.abs(s.k - k) < Math.abs(sizes[best].k - k) ? i : best, 0);
  const indexOf = (k) => sizes.findIndex((size) => size.k === k);
  const asked = () => { const found = /k=(\d+)/.exec(location.hash); return found ? indexOf(Number(found[1])) : -1; };

  at("title").textContent = data.title;
  at("subtitle").textContent = `${data.problem}, ${data.n.toLocaleString("en-GB")} rows, ` +
    (data.metric === "precomputed" ? "a matrix of distances" : `${data.d} ${data.d === 1 ? "column" : "columns"}, ${data.metric === "sqeuclidean" ? "squared euclidean" : data.metric} distance`);
  at("measure").textContent = data.measure;
  at("words").textContent = data.picture.words;
  at("reason").textContent = data.suggestion.reason + (data.left ? ` ${data.left} of the sizes are left out here; front.csv has all.` : "");
  at("run").hidden = data.facts.length === 0;
  at("facts").replaceChildren(...data.facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
  const slider = at("slider");
  slider.min = String(sizes[0].k);
  slider.max = String(sizes[sizes.length - 1].k);
  at("suggested").textContent = `suggested: k = ${data.suggestion.k}`;
  if (sizes.length === 1) at("controls").hidden = true;
  at("controls").style.display = sizes.length === 1 ? "none" : "";
  slider.addEventListener("input", () => show(nearest(Number(slider.value))));
  at("previous").addEventListener("click", () => show(current - 1));
  at("next").addEventListener("click", () => show(current + 1));
  at("suggested").addEventListener("click", () => show(indexOf(data.suggestion.k)));
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement || event.altKey || event.ctrlKey || event.metaKey;
    const scrolling = event.target instanceof Element && event.target.closest(".scroll");
    if (typing || scrolling) return;
    if (event.key === "ArrowLeft") show(current - 1);
    else if (event.key === "ArrowRight") show(current + 1);
    else return;
    event.preventDefault();
  });
  window.addEventListener("hashchange", () => { if (asked() >= 0 && asked() !== current) show(asked()); });
  new ResizeObserver(() => drawScatter()).observe(canvas.parentElement);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawScatter);
  show(asked() >= 0 ? asked() : indexOf(data.suggestion.k));
  document.documentElement.dataset.ready = "true";
})();
