// The leaderboard's page: its rows. gradio runs this and the two files after it as one text, once
// `element` is there; `server` calls Python. Everything from outside becomes a text node: no string
// is ever read as HTML.

const ROWS_AT_ONCE = 100;
const ORIGINS = { published: "published", submitted: "submitted" };
const ACCESS = { open: "open weights", API: "API", reference: "reference" };
const UNFILTERED = { query: "", origin: "", access: "", task: "", judge: "" };

const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null && child !== false && child !== ""));
  return node;
};

const link = (text, url, more = {}) =>
  url && url.startsWith("https://")
    ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer", ...more }, text)
    : document.createTextNode(text);

const number = (value, digits) => (value == null ? "–" : value.toFixed(digits).replace("-", "−"));
const brief = (value) => number(value, Number.isInteger(value) ? 0 : 1);
const counted = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

const root = element.querySelector(".pe");
let data = null;
let board = null;
const states = {};
const freshState = (of) => ({
  ...UNFILTERED, sort: of.main, down: true, view: 0, open: new Set(), shown: ROWS_AT_ONCE,
});
const state = () => (states[board.key] ??= freshState(board));
let chosen = [];

// ---------------------------------------------------------------- what a row is called

const variant = (entry) => {
  const rest = entry.task.slice(board.key.length).replace(/_sample$/, "").replaceAll("_", " ").trim();
  return rest || "full protocol";
};

const day = (iso) =>
  new Date(`${iso}T00:00:00Z`).toLocaleDateString("en-GB", {
    day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
  });

// ---------------------------------------------------------------- filters and order

const fits = (entry, s) =>
  `${entry.model} ${entry.note}`.toLowerCase().includes(s.query.trim().toLowerCase()) &&
  (!s.origin || entry.origin === s.origin) &&
  (!s.access || entry.access === s.access) &&
  (!s.task || variant(entry) === s.task) &&
  (!s.judge || entry.judge === s.judge);

const items = (entry) => (entry.cells[board.main] ?? Object.values(entry.cells)[0])?.[3] ?? null;

const sortValue = (entry, key) => {
  if (key === "model") return entry.model.toLowerCase();
  if (key === "n") return items(entry);
  return entry.cells[key]?.[0] ?? null;
};

// Rows whose judge does not compare come last, and within either part rows without a number.
const ordered = (entries, s) => {
  const keyed = entries.map((entry, place) => ({ entry, place, value: sortValue(entry, s.sort) }));
  keyed.sort((a, b) => {
    if (a.entry.comparable !== b.entry.comparable) return a.entry.comparable ? -1 : 1;
    if ((a.value === null) !== (b.value === null)) return a.value === null ? 1 : -1;
    if (a.value === b.value) return a.place - b.place;
    return (a.value < b.value) === s.down ? 1 : -1;
  });
  return keyed.map(({ entry }) => entry);
};

// ---------------------------------------------------------------- dot and whisker

const share = (value, [low, high]) =>
  `${Math.min(100, Math.max(0, (100 * (value - low)) / (high - low)))}%`;

const plot = (cell, scale, chance, kind) => {
  const track = h("div", { class: `track ${kind}`, "aria-hidden": "true" });
  if (chance != null) track.append(h("i", { class: "chance", style: { left: share(chance, scale) } }));
  if (!cell) return track;
  const [value, low, high] = cell;
  if (low != null) {
    const left = share(low, scale);
    track.append(h("i", { class: "whisker", style: { left, width: `calc(${share(high, scale)} - ${left})` } }));
  }
  track.append(h("i", { class: low == null ? "dot hollow" : "dot", style: { left: share(value, scale) } }));
  return track;
};

const axis = (scale) =>
  h("div", { class: "axis", "aria-hidden": "true" },
    [0, 0.5, 1].map((t) => h("span", { style: { left: `${100 * t}%` } }, `${scale[0] + t * (scale[1] - scale[0])}`)));

const chanceOf = (entry, key) => entry.chance[key] ?? (entry.simulated ? null : board.chance[key]);

// ---------------------------------------------------------------- the table

const sortButton = (key, title, label) => {
  const s = state();
  const active = s.sort === key;
  return h("button", {
    type: "button", class: active ? "sort active" : "sort", "data-sort": key, title: label,
    onclick: () => {
      s.down = active ? !s.down : key !== "model";
      s.sort = key;
      s.shown = ROWS_AT_ONCE;
      draw(`[data-sort="${CSS.escape(key)}"]`);
    },
  }, title, h("span", { class: "arrow", "aria-hidden": "true" }, active ? (s.down ? "↓" : "↑") : ""));
};

const ariaSort = (key) => (state().sort === key ? (state().down ? "descending" : "ascending") : "none");

const plotted = () => (board.columns[state().sort] ? state().sort : board.main);

const head = (keys, comparing) => {
  const column = board.columns[plotted()];
  return h("thead", {}, h("tr", {},
    comparing && h("th", { class: "pick", scope: "col" }, h("span", { class: "hidden-text" }, "Compare")),
    h("th", { scope: "col", class: "model", "aria-sort": ariaSort("model") }, sortButton("model", "Model")),
    h("th", { scope: "col", class: "plot" },
      h("span", { class: "plotted" }, column.group === "All" ? column.metric : `${column.metric}, ${column.group}`),
      axis(column.scale)),
    keys.map((key) => h("th", { scope: "col", class: "number", "aria-sort": ariaSort(key) },
      sortButton(key, board.columns[key].title, `${board.columns[key].metric}, ${board.columns[key].group}`))),
    h("th", { scope: "col", class: "number", "aria-sort": ariaSort("n") }, sortButton("n", "n", "number of items")),
  ));
};

const numberCell = (entry, key) => {
  const cell = entry.cells[key];
  const { digits } = board.columns[key];
  const active = state().sort === key ? " active" : "";
  if (!cell) return h("td", { class: `number none${active}` }, h("span", { title: "not given" }, "–"));
  return h("td", { class: `number${active}` }, number(cell[0], digits),
    cell[1] != null && h("small", {}, `${number(cell[1], digits)}–${number(cell[2], digits)}`));
};

const row = (entry, keys, comparing) => {
  const s = state();
  const open = s.open.has(entry.id);
  const key = plotted();
  const id = `row-${board.entries.indexOf(entry)}`;
  const notes = [
    entry.note,
    variant(entry) === "full protocol" ? "" : variant(entry),
    ACCESS[entry.access],
    entry.date ? `submitted ${day(entry.date)}` : ORIGINS[entry.origin],
  ].filter(Boolean);
  const line = h("tr", { class: `${entry.origin} ${entry.access}`, "data-id": entry.id },
    comparing && h("td", { class: "pick" }, entry.traces && h("input", {
      type: "checkbox", "aria-label": `Compare ${entry.model}`, checked: chosen.includes(entry),
      onchange: (event) => choose(entry, event.target.checked),
    })),
    h("th", { scope: "row", class: "model" },
      h("button", {
        type: "button", class: "name", "aria-expanded": `${open}`, "aria-controls": id, "data-open": entry.id,
        onclick: () => {
          open ? s.open.delete(entry.id) : s.open.add(entry.id);
          draw(`[data-open="${CSS.escape(entry.id)}"]`);
        },
      }, h("span", { class: "chevron", "aria-hidden": "true" }), h("span", {}, entry.model)),
      h("div", { class: "notes" }, notes.join(" · "),
        !entry.comparable && h("span", { class: "warn" }, " · graded by words only: not comparable"))),
    h("td", { class: "plot" }, plot(entry.cells[key], board.columns[key].scale, chanceOf(entry, key), entry.access)),
    keys.map((each) => numberCell(entry, each)),
    h("td", { class: "number count" }, items(entry)?.toLocaleString("en") ?? "–"),
  );
  const span = keys.length + (comparing ? 4 : 3);
  return open ? [line, h("tr", { class: "details", id }, h("td", { colspan: span }, details(entry)))] : [line];
};

const details = (entry) => {
  const charts = [];
  for (const [key, column] of Object.entries(board.columns)) {
    const cell = entry.cells[key];
    if (!cell) continue;
    const name = board.meanings.length > 1 ? `${column.metric}, ${column.group}` : column.group;
    charts.push(h("div", { class: "bar" },
      h("span", { class: "label" }, name),
      plot(cell, column.scale, chanceOf(entry, key), entry.access),
      h("span", { class: "value" }, number(cell[0], column.digits)),
      h("small", {}, [
        cell[1] != null && `${number(cell[1], column.digits)}–${number(cell[2], column.digits)}`,
        cell[3] != null && `n ${cell[3].toLocaleString("en")}`,
      ].filter(Boolean).join(" · "))));
  }
  return h("div", { class: "panel" },
    h("section", {}, h("h4", {}, "Every number"), charts),
    h("section", {}, h("h4", {}, "What it rests on"),
      h("dl", {},
        h("dt", {}, "Task"), h("dd", {}, entry.task),
        entry.judge && [h("dt", {}, "Judge"), h("dd", {}, entry.judge)],
        entry.facts.map(([name, text, url]) => [h("dt", {}, name), h("dd", {}, link(text, url))]),
        entry.origin === "submitted" && [h("dt", {}, "Model"), h("dd", {}, link(entry.model, entry.link))])));
};

const table = (entries, caption) => {
  const s = state();
  const keys = board.views[s.view].columns;
  const comparing = entries.some((entry) => entry.traces);
  const shown = ordered(entries.filter((entry) => fits(entry, s)), s);
  if (!shown.length) {
    return h("div", { class: "empty", role: "status" },
      h("p", {}, `None of the ${counted(entries.length, "row", "rows")} fits these filters.`),
      h("button", { type: "button", class: "plain", onclick: () => { Object.assign(s, UNFILTERED); draw("#query"); } },
        "Clear the filters"));
  }
  const body = h("tbody", {}, shown.slice(0, s.shown).flatMap((entry) => row(entry, keys, comparing)));
  const rest = shown.length - s.shown;
  return h("div", {},
    h("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": caption },
      h("table", {}, h("caption", { class: "hidden-text" }, caption), head(keys, comparing), body)),
    rest > 0 && h("button", {
      type: "button", class: "plain more",
      onclick: () => { s.shown += 2 * ROWS_AT_ONCE; draw(); },
    }, `Show ${Math.min(rest, 2 * ROWS_AT_ONCE)} more of ${counted(rest, "row", "rows")}`));
};
