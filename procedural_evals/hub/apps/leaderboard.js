// The leaderboard's page. gradio runs this text once `element` is there; `server` calls Python.
// Everything from outside becomes a text node: no string is ever read as HTML.

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

// ---------------------------------------------------------------- filters, boards, page

const select = (name, title, options) => {
  const s = state();
  const all = Object.entries(options);
  if (all.length < 2) return null;
  return h("label", { class: "field" }, h("span", {}, title),
    h("select", { name, "data-filter": name, onchange: (event) => { s[name] = event.target.value; draw(`[data-filter="${name}"]`); } },
      h("option", { value: "" }, "all"),
      all.map(([value, text]) => h("option", { value, selected: s[name] === value }, text))));
};

const present = (of) => {
  const values = [...new Set(board.entries.map(of))].filter(Boolean).sort();
  return Object.fromEntries(values.map((value) => [value, value]));
};

const named = (names, of) =>
  Object.fromEntries(Object.keys(present(of)).map((value) => [value, names[value] ?? value]));

const filters = () => {
  const s = state();
  return h("form", { class: "filters", role: "search", "aria-label": "Filter the rows", onsubmit: (event) => event.preventDefault() },
    h("label", { class: "field wide" }, h("span", {}, "Find a model"),
      h("input", { id: "query", type: "search", value: s.query, autocomplete: "off", spellcheck: "false", placeholder: "name",
        oninput: (event) => { s.query = event.target.value; drawTables(); } })),
    select("origin", "Origin", named(ORIGINS, (entry) => entry.origin)),
    select("access", "Kind", named(ACCESS, (entry) => entry.access)),
    select("task", "Variant", present(variant)),
    select("judge", "Judge", present((entry) => entry.judge)));
};

const views = () => {
  const s = state();
  if (board.views.length < 2) return null;
  return h("div", { class: "views", role: "group", "aria-label": "Columns" },
    board.views.map((view, place) => h("button", {
      type: "button", "aria-pressed": `${place === s.view}`, "data-view": `${place}`,
      onclick: () => {
        // The number that was sorted by stays the one that is sorted by, in the other group.
        const [metric] = s.sort.split(":");
        s.view = place;
        if (board.columns[s.sort] && !view.columns.includes(s.sort)) {
          s.sort = view.columns.find((key) => key.startsWith(`${metric}:`)) ?? view.columns[0];
        }
        draw(`[data-view="${place}"]`);
      },
    }, view.title)));
};

const legend = () =>
  h("p", { class: "legend" },
    h("span", {}, h("i", { class: "dot hollow" }), "published, without an interval"),
    h("span", {}, h("i", { class: "mark" }), "submitted, with its 95 % interval"),
    Object.keys(board.chance).length > 0 && h("span", {}, h("i", { class: "chance" }), "random guessing"));

const tables = () => {
  const real = board.entries.filter((entry) => !entry.simulated);
  const simulated = board.entries.filter((entry) => entry.simulated);
  const shown = real.filter((entry) => fits(entry, state())).length;
  const several = new Set(real.map((entry) => entry.judge).filter(Boolean)).size > 1;
  return [
    h("p", { class: "count", role: "status" },
      real.length ? `${shown} of ${counted(real.length, "row", "rows")}` : "",
      several && h("span", { class: "warn" }, " · graded by different judges: compare within one")),
    real.length ? table(real, `${board.title}: results`) : h("div", { class: "empty", role: "status" },
      h("p", {}, "No result yet: the paper's rows are not on file, and nothing was submitted."),
      h("p", {}, "A run is submitted with ", h("code", {}, "python upload.py submit RESULTS --model ORG/NAME"), ".")),
    real.length > 0 && legend(),
    simulated.length > 0 && h("section", { class: "simulated" },
      h("h3", {}, "Simulated worlds"),
      h("p", {}, "Questions about rendered scenes. They show that a set-up works and what a model can see there; they say nothing about real video, and never stand among the rows above."),
      table(simulated, `${board.title}: simulated worlds`)),
  ];
};

const meanings = () =>
  h("section", { class: "meanings" }, h("h3", {}, "What the numbers mean"),
    h("dl", {}, board.meanings.map(([title, text]) => [h("dt", {}, title), h("dd", {}, text)])),
    h("p", {}, "Intervals are 95 % percentile intervals of a seeded bootstrap over videos, recordings or participants. The papers print none."));

const tabs = () =>
  h("div", { class: "tabs", role: "tablist", "aria-label": "Benchmarks" },
    data.boards.map((each, place) => h("button", {
      type: "button", role: "tab", id: `tab-${each.key}`, "aria-selected": `${each === board}`, "aria-controls": "board",
      tabindex: each === board ? "0" : "-1",
      onclick: () => open(each.key, `#tab-${each.key}`),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = data.boards[(place + step + data.boards.length) % data.boards.length];
        open(next.key, `#tab-${next.key}`);
      },
    }, each.title)));

const open = (key, focus) => {
  board = data.boards.find((each) => each.key === key) ?? data.boards[0];
  chosen = [];
  history.replaceState(null, "", `#${board.key}`);
  draw(focus);
};

const drawTables = () => root.querySelector(".tables").replaceChildren(...tables().filter(Boolean));

const draw = (focus) => {
  const scrolled = root.querySelector(".tabs")?.scrollLeft ?? 0;
  const sideways = [...root.querySelectorAll(".scroller")].map((each) => each.scrollLeft);
  const published = board.entries.filter((entry) => entry.origin === "published").length;
  root.replaceChildren(...[
    h("header", {},
      h("h1", {}, "Procedural video understanding"),
      h("p", { class: "lead" }, "Can a model watch people work, and help them? Published and submitted results on four benchmarks, with what each number rests on.")),
    tabs(),
    h("main", { id: "board", role: "tabpanel", "aria-labelledby": `tab-${board.key}` },
      h("h2", {}, board.title),
      h("p", { class: "asks" }, board.asks, " ",
        board.links.map(([text, url]) => [link(text, url), " "])),
      board.entries.length > 0 && filters(),
      board.entries.length > 0 && views(),
      h("div", { class: "tables" }, tables().filter(Boolean)),
      meanings()),
    h("footer", {},
      `${counted(published, "published row", "published rows")}, ${board.entries.length - published} submitted. `,
      `Read ${day(data.built)} by procedural-evals ${data.version}.`,
      data.problems.length > 0 && h("details", {},
        h("summary", {}, `${counted(data.problems.length, "problem", "problems")} with the submissions`),
        h("ul", {}, data.problems.map((text) => h("li", {}, text))))),
    bar(),
  ].filter(Boolean));
  root.querySelector(".tabs").scrollLeft = scrolled;
  root.querySelectorAll(".scroller").forEach((each, place) => { each.scrollLeft = sideways[place] ?? 0; });
  if (focus) root.querySelector(focus)?.focus();
};

// ---------------------------------------------------------------- two rows compared

const choose = (entry, picked) => {
  chosen = picked ? [...chosen, entry].slice(-2) : chosen.filter((each) => each !== entry);
  draw(`[data-id="${CSS.escape(entry.id)}"] input`);
};

const bar = () =>
  chosen.length > 0 && h("div", { class: "choice", role: "region", "aria-label": "Comparison" },
    h("span", {}, chosen.length === 2
      ? `${chosen[0].model} against ${chosen[1].model}`
      : `${chosen[0].model} against …: tick a second row`),
    h("button", { type: "button", class: "primary", disabled: chosen.length < 2, onclick: compare }, "Compare"),
    h("button", { type: "button", class: "plain", onclick: () => { chosen = []; draw(); } }, "Clear"));

const compare = async () => {
  const [a, b] = chosen;
  const [metric] = plotted().split(":");
  const dialog = h("dialog", { class: "comparison", "aria-label": "Comparison", onclose: (event) => event.target.remove() },
    h("p", { role: "status" }, "Pairing the items …"));
  root.append(dialog);
  dialog.showModal();
  let found;
  try {
    found = await server.compare({ a: a.id, b: b.id, metric });
  } catch (error) {
    found = { error: `The comparison failed: ${error.message ?? error}` };
  }
  dialog.replaceChildren(...comparison(found, a, b, dialog).filter(Boolean));
  dialog.querySelector("button").focus();
};

const side = (letter, entry) =>
  h("div", { class: "side" }, h("b", {}, letter), h("span", {}, entry.model), h("small", {}, `${variant(entry)}, ${day(entry.date)}`));

const comparison = (found, a, b, dialog) => {
  const close = h("button", { type: "button", class: "plain close", onclick: () => dialog.close() }, "Close");
  const sides = h("div", { class: "sides" }, side("A", a), side("B", b));
  if (found.error) return [close, h("h3", {}, "No comparison"), sides, h("p", { class: "warn", role: "alert" }, found.error)];
  const digits = 2;
  const reach = Math.max(...[found.low, found.high, found.difference, 1e-9].map(Math.abs)) * 1.15;
  const line = plot([found.difference, found.low, found.high], [-reach, reach], 0, "difference");
  return [
    close,
    h("h3", {}, `${found.metric[0].toUpperCase()}${found.metric.slice(1)}: B − A`),
    sides,
    found.warnings.map((text) => h("p", { class: "warn", role: "alert" }, text)),
    h("p", { class: "big" }, `${found.difference > 0 ? "+" : ""}${number(found.difference, digits)}`,
      found.low != null && h("small", {}, ` 95 % interval ${number(found.low, digits)} to ${number(found.high, digits)}`)),
    line,
    h("p", {}, found.words),
    h("ul", { class: "facts" }, found.facts.map((text) => h("li", {}, text))),
    found.flips.length > 0 && h("h4", {}, found.flips.length < found.flipped
      ? `${found.flips.length} of the ${found.flipped} items that one gets better than the other`
      : "Items that one gets better than the other"),
    found.flips.length > 0 && h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Items that differ" },
      h("table", { class: "flips" },
        h("thead", {}, h("tr", {}, ["Item", "A", "A’s reply", "B", "B’s reply"].map((text) => h("th", { scope: "col", class: text.length === 1 && "number" }, text)))),
        h("tbody", {}, found.flips.map((flip) => h("tr", {},
          h("th", { scope: "row" }, flip.id),
          h("td", { class: "number" }, brief(flip.a)), h("td", { class: "reply" }, flip.reply_a),
          h("td", { class: "number" }, brief(flip.b)), h("td", { class: "reply" }, flip.reply_b)))))),
  ].flat();
};

// ---------------------------------------------------------------- start

root.replaceChildren(h("p", { class: "empty", role: "status" }, "Reading the results …"));
server.boards(null).then((found) => {
  data = found;
  open(decodeURIComponent(location.hash.slice(1)));
}).catch((error) => {
  root.replaceChildren(h("p", { class: "empty warn", role: "alert" },
    `The results could not be read: ${error.message ?? error}. Reload the page to try again.`));
});
