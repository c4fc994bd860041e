"use strict";
/* Heat maps and drill-down. Every text of the run goes into the page as a text node. */
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const LONGEST_WITH_MATHS = 200000;
  const meta = JSON.parse($("meta").textContent);
  const OUTCOMES = meta.outcomes, WORDS = meta.words;
  const element = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  };
  const link = (bench, problem, sample) =>
    "#/" + [bench, problem, ...(sample === undefined ? [] : [String(sample)])].map(encodeURIComponent).join("/");
  const outcome = (mark) => OUTCOMES[mark.charCodeAt(0) - 97];
  const summary = (problem) => {
    const counts = new Map();
    for (const mark of problem.marks) counts.set(outcome(mark), (counts.get(outcome(mark)) || 0) + 1);
    return [...counts].map(([name, count]) => `${count} ${WORDS[name]}`).join(", ");
  };

  /* ---- heat maps: problems x samples ---- */
  const SIZE = 12;
  const heatRow = (bench, problem) => {
    const svg = document.createElementNS(SVG, "svg");
    const most = bench.n;
    svg.setAttribute("viewBox", `0 0 ${most * SIZE} ${SIZE}`);
    svg.setAttribute("width", most * SIZE);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${problem.id}: ${summary(problem)}`);
    [...problem.marks].forEach((mark, at) => {
      const cell = document.createElementNS(SVG, "rect");
      cell.setAttribute("x", at * SIZE + 1);
      cell.setAttribute("y", 1);
      cell.setAttribute("width", SIZE - 2);
      cell.setAttribute("height", SIZE - 2);
      cell.setAttribute("class", "o-" + outcome(mark));
      svg.append(cell);
    });
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const at = Math.floor((event.clientX - box.left) / box.width * most);
      if (at < problem.marks.length) location.hash = link(bench.name, problem.id, problem.samples[at]);
    });
    return element("div", {class: "row"},
      element("a", {href: link(bench.name, problem.id), title: problem.id}, problem.id),
      element("span", {}, `${problem.c}/${problem.marks.length}`), svg);
  };
  const drawHeat = (bench, order) => {
    const place = $("heat-" + bench.at);
    const rows = [...bench.problems];
    if (order === "score") rows.sort((a, b) => a.c / a.marks.length - b.c / b.marks.length);
    place.style.setProperty("--wide", bench.n <= 8 ? "19rem" : bench.n <= 40 ? "36rem" : "70rem");
    place.replaceChildren(...rows.map((problem) => heatRow(bench, problem)));
  };
  const setUpHeat = () => {
    meta.benches.forEach((bench, at) => {
      bench.at = at;
      const details = $("bench-" + at);
      const draw = () => { if (details.open && !$("heat-" + at).firstChild) drawHeat(bench, "id"); };
      details.addEventListener("toggle", draw);
      draw();
      $("order-" + at).addEventListener("click", (event) => {
        const byScore = event.target.getAttribute("aria-pressed") !== "true";
        event.target.setAttribute("aria-pressed", String(byScore));
        event.target.textContent = byScore ? "order: hardest first" : "order: by name";
        drawHeat(bench, byScore ? "score" : "id");
      });
    });
  };

  /* ---- drill-down ---- */
  const cache = new Map();
  const chunk = async (bench, problem) => {
    const id = `chunk-${bench.at}-${bench.problems.indexOf(problem)}`;
    if (!cache.has(id)) {
      const packed = Uint8Array.from(atob($(id).textContent), (one) => one.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      cache.set(id, JSON.parse(await new Response(stream).text()));
      if (cache.size > 8) cache.delete(cache.keys().next().value);
    }
    return cache.get(id);
  };
  let asSource = false, here = null;
  const prose = (text) => {
    const plain = asSource || text.length > LONGEST_WITH_MATHS;
    const node = element("div", {class: plain ? "text source" : "text", dir: "auto"});
    node.append(...(plain ? [text] : TeX.nodes(text)));
    return node;
  };
  const answer = (text) => {
    const node = element("span");
    node.append(...(asSource ? [text] : [TeX.math(text, false)]));
    return node;
  };
  const facts = (pairs) => {
    const list = element("dl", {class: "facts"});
    for (const [name, value] of pairs) list.append(element("dt", {}, name), element("dd", {}, value));
    return list;
  };
  const strip = (bench, problem, current) => {
    const nodes = [...problem.marks].map((mark, at) => {
      const name = outcome(mark), sample = problem.samples[at];
      const button = element("button", {type: "button", class: "b-" + name,
        "aria-current": sample === current ? "true" : undefined,
        "aria-label": `sample ${sample}: ${WORDS[name]}`, title: WORDS[name]}, String(sample));
      button.addEventListener("click", () => { location.hash = link(bench.name, problem.id, sample); });
      return button;
    });
    return element("div", {class: "strip", role: "group", "aria-label": "samples"}, ...nodes);
  };
  const response = (sample) => {
    const graded = sample.grades.map((one) => {
      const words = element("span", {}, `${WORDS[one.outcome]} (${one.reason}, ${one.by})`);
      if (one.extracted !== null) words.append(", answer ", answer(one.extracted));
      return [one.grader, words];
    });
    const tokens = sample.tokens === null ? "" : `, ${sample.tokens} tokens`;
    const list = facts([["ended by", sample.finish + tokens], ...graded]);
    const body = sample.text === null
      ? element("p", {class: "soft"}, "This response is not in the page. In the terminal: " + sample.hint)
      : prose(sample.text);
    return [list, body];
  };
  const show = async (bench, problem, wanted) => {
    const view = $("detail");
    const current = problem.samples.includes(wanted) ? wanted : problem.samples[0];
    here = {bench, problem, sample: current};
    const place = bench.problems.indexOf(problem);
    const step = (by, words) => {
      const other = bench.problems[place + by];
      const button = element("button", {type: "button", disabled: !other}, words);
      if (other) button.addEventListener("click", () => { location.hash = link(bench.name, other.id); });
      return button;
    };
    const back = element("button", {type: "button"}, "overview (Esc)");
    back.addEventListener("click", () => { location.hash = ""; });
    const source = element("button", {type: "button", "aria-pressed": String(asSource)},
      asSource ? "show maths" : "show source");
    source.addEventListener("click", () => { asSource = !asSource; route(); });
    const title = element("h2", {tabindex: "-1", id: "detail-title"},
      `${bench.name} / ${problem.id}`);
    const head = [
      element("div", {class: "tools"}, back, step(-1, "previous (p)"), step(1, "next (n)"), source,
        element("span", {class: "soft"}, "keys: ← → sample, p n problem")),
      title,
      element("p", {class: "soft"}, `${problem.c} of ${problem.marks.length} correct: ${summary(problem)}`),
    ];
    let content;
    try {
      content = await chunk(bench, problem);
    } catch (error) {
      view.replaceChildren(...head, element("p", {}, `This browser cannot unpack the texts: ${error}`));
      return;
    }
    if (here.problem !== problem || here.sample !== current) return;
    const sample = content.samples.find((one) => one.sample === current);
    view.replaceChildren(...head,
      ...(content.problem === null ? [] : [prose(content.problem)]),
      ...(content.golds.length ? [facts([["gold", answer(content.golds.join("\\text{ or }"))]])] : []),
      strip(bench, problem, current),
      element("h3", {}, `sample ${current}`), ...response(sample));
    view.dataset.shown = `${bench.name}/${problem.id}/${current}`;
  };
  const route = () => {
    const [, name, id, sample] = location.hash.split("/").map((part) => {
      try { return decodeURIComponent(part); } catch { return part; }
    });
    const bench = meta.benches.find((one) => one.name === name);
    const problem = bench && bench.problems.find((one) => one.id === id);
    $("overview").hidden = Boolean(problem);
    $("detail").hidden = !problem;
    const before = here;
    if (!problem) {
      here = null;
      $("detail").replaceChildren();
      if (before) {
        const row = [...document.querySelectorAll(".heat a")].find((one) =>
          one.getAttribute("href") === link(before.bench.name, before.problem.id));
        if (row) row.focus();
      }
      return;
    }
    show(bench, problem, Number(sample)).then(() => {
      if (!before || before.problem !== problem) {
        window.scrollTo(0, 0);
        const title = $("detail-title");
        if (title) title.focus({preventScroll: true});
      }
    });
  };
  const keys = (event) => {
    if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
    const {bench, problem, sample} = here;
    const turn = (list, one, by) => list[list.indexOf(one) + by];
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], p: [-1, 0], n: [1, 0]}[event.key];
    if (event.key === "Escape") location.hash = "";
    else if (move && move[0]) {
      const other = turn(bench.problems, problem, move[0]);
      if (other) location.hash = link(bench.name, other.id);
    } else if (move) {
      const other = turn(problem.samples, sample, move[1]);
      if (other !== undefined) location.hash = link(bench.name, problem.id, other);
      event.preventDefault();
    }
  };
  const theme = () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  };
  $("theme").addEventListener("click", theme);
  addEventListener("hashchange", route);
  addEventListener("keydown", keys);
  setUpHeat();
  route();
})();
