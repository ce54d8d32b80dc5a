(function () {
"use strict";
var D = JSON.parse(document.getElementById("data").textContent), drawn = [];
var font = "12px system-ui,-apple-system,'Segoe UI',Roboto,Inter,Arial,sans-serif";
function css(n) { return getComputedStyle(document.documentElement).getPropertyValue("--" + n).trim(); }

// Numbers with units: of three digits, and more of them if asked for.
function short(v, more) {
  var a = Math.abs(v);
  return a >= 1000 ? v.toLocaleString("en-US", { maximumFractionDigits: more }) : a === 0 ? "0" : a < 1 ? v.toPrecision(2 + more) : v.toFixed((a >= 100 ? 0 : a >= 10 ? 1 : 2) + more);
}
function trim(s) { return s.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""); }
function time(ns, more) {
  var a = Math.abs(ns), u = a >= 1e9 ? [1e9, " s"] : a >= 1e6 ? [1e6, " ms"] : a >= 1e3 ? [1e3, " µs"] : [1, " ns"];
  return trim(short(ns / u[0], more)) + u[1];
}
function text(v, unit, more) {
  if (v == null) return "–";
  if (unit === "ns") return time(v, more);
  return trim(short(v, more)) + (!unit ? "" : unit[0] === "/" ? unit : " " + unit);
}
// Ticks have as many digits as it takes to tell them apart. The origin has the unit of the others.
function ticks(list, unit) {
  if (unit !== "ns" && unit !== "%" && unit !== "s") unit = "";
  var most = Math.max.apply(null, list.map(function (v) { return v == null ? 0 : Math.abs(v); }));
  for (var more = 0; ; more++) {
    var labels = list.map(function (v) { return v == null ? "" : v === 0 && unit === "ns" ? "0" + text(most, unit).replace(/^[^ ]*/, "") : text(v, unit, more); }), shown = labels.filter(String);
    if (more === 9 || new Set(shown).size === shown.length) return labels;
  }
}

// Splits of a logarithmic axis.
function decades(u, i, lo, hi) {
  var span = Math.log10(hi / lo), steps = span > 4 ? [1] : span > 2 ? [1] : span > 1.2 ? [1, 3] : [1, 2, 3, 5, 7], out = [], every = span > 6 ? 2 : 1;
  for (var e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++) {
    if (e % every) continue;
    steps.forEach(function (s) { var v = +(s * Math.pow(10, e)).toPrecision(3); if (v >= lo && v <= hi) out.push(v); });
  }
  if (out.length < 3) { // less than a decade
    var step = Math.pow(10, Math.floor(Math.log10((hi - lo) / 3)));
    while ((hi - lo) / step > 8) step *= 2;
    for (out = [], e = Math.ceil(lo / step); e * step <= hi; e++) out.push(+(e * step).toPrecision(6));
  }
  return out;
}
// The name of an axis, with its unit where its numbers have none.
function titled(a) { return a.label && a.unit && a.unit !== "ns" && a.unit !== "%" && a.unit !== "s" && a.label.indexOf(a.unit) < 0 ? a.label + ", " + a.unit : a.label || undefined; }
// Splits of times in nanoseconds on a linear axis: 1, 2 and 5 of the unit.
var steps = []; for (var e = 0; e < 14; e++) [1, 2, 5].forEach(function (s) { steps.push(s * Math.pow(10, e)); });

function axis(a, o) {
  return Object.assign({
    stroke: css("dim"), font: font, label: titled(a), labelFont: font, labelSize: 18, labelGap: 2, grid: { stroke: css("grid"), width: 1 }, ticks: { show: false }, gap: 6,
    splits: a.log ? decades : undefined, incrs: !a.log && a.unit === "ns" ? steps : undefined,
    filter: function (u, v) { return v; }, values: function (u, v) { return ticks(v, a.unit); }
  }, o);
}
function scale(f, key) { return { time: false, distr: f[key].log ? 3 : 1, range: function () { return [f[key].from, f[key].to]; } }; }

// A marked value: a line across the plot, with its name.
function mark(m) {
  return function (u) {
    var c = u.ctx, b = u.bbox, p = devicePixelRatio || 1, across = m.axis !== "x", at = Math.round(u.valToPos(m.value, m.axis, true));
    if (across ? at < b.top || at > b.top + b.height : at < b.left || at > b.left + b.width) return;
    c.save(); c.strokeStyle = c.fillStyle = css(m.color); c.lineWidth = 1.5 * p; c.setLineDash(m.dashed ? [5 * p, 4 * p] : []);
    c.beginPath();
    if (across) { c.moveTo(b.left, at); c.lineTo(b.left + b.width, at); } else { c.moveTo(at, b.top); c.lineTo(at, b.top + b.height); }
    c.stroke(); c.setLineDash([]); c.font = "600 " + 12 * p + "px " + font.slice(5);
    var x, y = at - 3 * p, right = at > b.left + b.width * .7;
    c.textBaseline = "bottom"; c.textAlign = "right"; x = b.left + b.width - 4 * p;
    if (across && y - 14 * p < b.top) { c.textBaseline = "top"; y = at + 4 * p; }
    if (!across) { c.textAlign = right ? "right" : "left"; c.textBaseline = "top"; x = at + (right ? -6 : 6) * p; y = b.top + (u.scales.right ? .3 * b.height : 4 * p); }
    outlined(c, m.label, x, y);
    c.restore();
  };
}
// A text that is readable on lines.
function outlined(c, text, x, y) {
  c.lineJoin = "round"; c.strokeStyle = css("card"); c.lineWidth = 4 * (devicePixelRatio || 1); c.strokeText(text, x, y); c.fillText(text, x, y);
}
// Names of points, where they have some and there is room.
function names(f) {
  return function (u) {
    if (!f.names || innerWidth < 720 || f.names.length > 24) return;
    var c = u.ctx, p = devicePixelRatio || 1;
    c.save(); c.font = 11 * p + "px " + font.slice(5); c.fillStyle = css("dim"); c.textBaseline = "bottom";
    f.names.forEach(function (n, i) {
      var v = null; f.series.forEach(function (s) { if (s.values[i] != null) v = s.values[i]; });
      if (v == null) return;
      var x = u.valToPos(f.at[i], "x", true), right = x > u.bbox.left + u.bbox.width * .7;
      c.textAlign = right ? "right" : "left"; outlined(c, n, x + (right ? -7 : 7) * p, u.valToPos(v, "y", true) - 5 * p);
    });
    c.restore();
  };
}
function series(f) {
  return [{ label: f.x.label || "at", value: function (u, v, s, i) { return i == null ? "" : f.places ? f.places[i] || "–" : text(v, f.x.unit, 1); } }].concat(f.series.map(function (s) {
    var color = css(s.color), a = s.right ? f.right : f.y;
    var o = { label: s.label, scale: s.right ? "right" : "y", stroke: color, width: 2, points: { show: false }, value: function (u, v, s, i) { return i == null ? "" : text(v, a.unit, 1); }, spanGaps: !!f.names || s.kind === "joined" };
    if (s.kind === "dots" || s.kind === "joined" || f.names) { o.points = { show: true, size: f.names || f.at.length < 60 ? 8 : 4.5, fill: color, width: 0 }; if (s.kind === "dots") o.width = 0; }
    if (s.kind === "bars") { o.width = 0; o.fill = color; o.paths = uPlot.paths.bars({ size: [.92, 80], gap: 1 }); }
    if (s.kind === "steps") { o.fill = color + "33"; o.paths = uPlot.paths.stepped({ align: 0 }); }
    return o;
  }));
}
// The name of a place on the axis, where there are few of them.
function place(f, x, narrow) {
  var n = f.places[x - 1];
  return n == null || f.places.length > (narrow ? 5 : 14) ? "" : n.length > 14 ? n.slice(0, 13) + "…" : n;
}
// The width of an axis follows from its labels.
function wide(u, labels) { return Math.max.apply(null, [50].concat((labels || []).map(function (l) { return 7 * l.length + 12; }))); }

// A chart as files: what is seen, with its title and legend, and its numbers.
function picture(f, u, title, done) {
  var from = u.ctx.canvas, p = devicePixelRatio || 1, to = document.createElement("canvas"), c = to.getContext("2d"), x = 14 * p;
  to.width = from.width; to.height = from.height + 58 * p;
  c.fillStyle = css("card"); c.fillRect(0, 0, to.width, to.height); c.drawImage(from, 0, 28 * p);
  c.fillStyle = css("ink"); c.font = "600 " + 14 * p + "px " + font.slice(5); c.fillText(title, x, 20 * p);
  c.font = 12 * p + "px " + font.slice(5);
  f.series.forEach(function (s) {
    c.fillStyle = css(s.color); c.fillRect(x, to.height - 21 * p, 10 * p, 10 * p); x += 15 * p;
    c.fillStyle = css("dim"); c.fillText(s.label, x, to.height - 12 * p); x += c.measureText(s.label).width + 18 * p;
  });
  to.toBlob(done);
}
function numbers(f) {
  var named = function (label, a) { return label + (a.unit ? " (" + a.unit + ")" : ""); };
  var rows = [[named(f.x.label || "at", f.x)].concat(f.series.map(function (s) { return named(s.label, s.right ? f.right : f.y); }))];
  f.at.forEach(function (x, i) { rows.push([f.places ? f.places[i] : x].concat(f.series.map(function (s) { return s.values[i]; }))); });
  if (f.names) rows.forEach(function (r, i) { r.unshift(i ? f.names[i - 1] : "name"); });
  return new Blob([rows.map(function (r) {
    return r.map(function (v) { v = v == null ? "" : String(v); return /[",\n]/.test(v) ? '"' + v.replace(/"/g, '""') + '"' : v; }).join(",") + "\n";
  }).join("")], { type: "text/csv" });
}
function save(f, u, el) {
  var cap = el.parentNode.querySelector("figcaption"), title = cap.querySelector("h2").textContent, old = cap.querySelector(".save");
  if (old) old.remove();
  var box = cap.insertBefore(document.createElement("span"), cap.firstChild);
  box.className = "save";
  ["png", "csv"].forEach(function (kind) {
    var b = box.appendChild(document.createElement("button"));
    b.type = "button"; b.textContent = kind.toUpperCase(); b.setAttribute("aria-label", "Save as " + b.textContent + ": " + title);
    b.addEventListener("click", function () {
      var done = function (blob) {
        var a = document.createElement("a");
        a.href = URL.createObjectURL(blob); a.download = (document.title + " " + f.id).toLowerCase().replace(/[^a-z0-9.]+/g, "-") + "." + kind; a.click();
        setTimeout(function () { URL.revokeObjectURL(a.href); }, 60000);
      };
      if (kind === "png") picture(f, u, title, done); else done(numbers(f));
    });
  });
}
function data(f) { return [f.at].concat(f.series.map(function (s) { return s.values; })); }
// Marks at the measured points, but at none that is fewer pixels from the one before.
function apart(at, pixels) {
  return function (u) {
    var last = -pixels;
    return at.filter(function (x) { var p = u.valToPos(x, "x"), far = p - last >= pixels; if (far) last = p; return far; });
  };
}
function draw(f) {
  var el = document.getElementById("f-" + f.id); if (!el) return;
  el.textContent = "";
  var narrow = innerWidth < 720, over = f.x.unit === "s";
  var o = {
    width: el.clientWidth, height: el.clientHeight, padding: [12, f.right ? 4 : 18, 0, 0],
    scales: { x: scale(f, "x"), y: scale(f, "y") }, series: series(f),
    axes: [axis(f.x, Object.assign({ size: 30, space: narrow ? 60 : 80 }, f.series[0].kind === "joined" && f.at.length < 12 && { splits: apart(f.at, 40) }, f.places && {
      incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1e4, 1e5], values: function (u, v) { return v.map(function (x) { return place(f, x, narrow); }); }
    })), axis(f.y, { size: wide })],
    legend: { live: true, markers: { width: 0, fill: function (u, i) { return i ? css(f.series[i - 1].color) : ""; } } },
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false }, sync: over ? { key: "time", setSeries: false } : undefined },
    hooks: { draw: [function (u) { (f.marks || []).forEach(function (m) { mark(m)(u); }); }, names(f)] }
  };
  if (f.right) { o.scales.right = scale(f, "right"); o.axes.push(axis(f.right, { scale: "right", side: 1, size: 50, grid: { show: false }, splits: function () { return [0, 25, 50, 75, 100]; } })); }
  var u = new uPlot(o, data(f), el);
  drawn.push(u); save(f, u, el);
  el.style.height = "auto";
}
function all() {
  drawn.forEach(function (u) { u.destroy(); }); drawn = [];
  document.querySelectorAll(".chart").forEach(function (e) { e.style.height = ""; });
  D.figures.forEach(draw);
}
all();
var w = innerWidth, timer;
addEventListener("resize", function () { if (innerWidth === w) return; w = innerWidth; clearTimeout(timer); timer = setTimeout(all, 120); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
matchMedia("print").addEventListener("change", all);

// A page of a test that runs gets its texts and figures from it.
if (D.live) {
  var get = function (id) { return document.getElementById(id); }, source = new EventSource("events");
  var make = function (parent, tag, className, content) {
    var e = parent.appendChild(document.createElement(tag)); e.className = className; if (content) e.textContent = content;
    return e;
  };
  // What a chart cannot change once it is drawn.
  var shape = function (list) { return JSON.stringify(list.map(function (f) { return [f.id, f.wide, f.x.log, f.y.log, f.series.map(function (s) { return s.label; })]; })); };
  source.onmessage = function (e) {
    var s = JSON.parse(e.data);
    document.title = (s.left || s.state) + " · " + s.title;
    get("title").textContent = s.title; get("state").textContent = s.state; get("outlook").textContent = s.outlook;
    get("banner").className = "banner " + s.tone;
    get("cards").textContent = "";
    s.cards.forEach(function (c) { var d = make(get("cards"), "div", ""); make(d, "span", "", c.name); make(d, "b", "", c.value); });
    var same = shape(s.figures) === shape(D.figures);
    if (same) s.figures.forEach(function (f, i) { Object.assign(D.figures[i], { marks: null }, f); drawn[i].setData(data(f)); });
    else {
      D.figures = s.figures; get("charts").textContent = "";
      s.figures.forEach(function (f) {
        var fig = make(get("charts"), "figure", f.wide ? "wide" : "half"), cap = make(fig, "figcaption", "");
        make(cap, "h2", "", f.title); make(cap, "p", ""); make(fig, "div", "chart").id = "f-" + f.id;
      });
      all();
    }
    s.figures.forEach(function (f) { get("f-" + f.id).parentNode.querySelector("p").textContent = f.sentence; });
    if (s.ended) source.close();
  };
  source.onerror = function () { source.close(); get("state").textContent = "The run does not answer any more."; };
}

// Rows of many runs: those that have the chosen values are shown, and the tables that have such rows.
var filters = document.querySelectorAll("select[data-f]");
filters.forEach(function (f) {
  f.addEventListener("change", function () {
    document.querySelectorAll(".group").forEach(function (g) {
      var any = false;
      g.querySelectorAll("tbody tr").forEach(function (r) {
        r.hidden = Array.prototype.some.call(filters, function (f) { return f.value && r.getAttribute("data-f" + f.dataset.f) !== f.value; });
        any = any || !r.hidden;
      });
      g.hidden = !any;
    });
  });
});

// Tables that sort by a column.
document.querySelectorAll("table.sortable").forEach(function (table) {
  var heads = table.tHead.rows[0].cells, body = table.tBodies[0];
  function key(row, i) { var c = row.cells[i], v = c.dataset.v; return v === undefined ? c.textContent : v === "" ? null : +v; }
  Array.prototype.forEach.call(heads, function (head, i) {
    head.firstElementChild.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") !== "ascending";
      Array.prototype.forEach.call(heads, function (h) { h.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      Array.prototype.slice.call(body.rows).sort(function (a, b) {
        var x = key(a, i), y = key(b, i);
        if (x === null || y === null) return (x === null) - (y === null);
        return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
      }).forEach(function (r) { body.appendChild(r); });
    });
  });
});
})();
