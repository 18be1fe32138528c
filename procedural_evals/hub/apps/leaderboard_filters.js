// The leaderboard's page: boards, filters, and the whole drawn anew.

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
