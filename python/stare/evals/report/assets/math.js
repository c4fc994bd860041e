"use strict";
/* LaTeX to MathML for what models write, built node by node: no text ever becomes markup.
   What is not known is shown as it was written. */
const TeX = (() => {
  const NS = "http://www.w3.org/1998/Math/MathML";
  const LIMIT = 4000, DEPTH = 60;
  const table = (text) => Object.fromEntries(text.trim().split(/\s+/).map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
  const LETTERS = table(`alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ
    vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν xi=ξ pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ
    varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ
    Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω infty=∞ emptyset=∅ varnothing=∅ ell=ℓ hbar=ℏ
    Re=ℜ Im=ℑ aleph=ℵ partial=∂ nabla=∇ degree=° circ=∘ prime=′ imath=ı jmath=ȷ angle=∠
    triangle=△ square=□ blacksquare=■ checkmark=✓ top=⊤ bot=⊥ star=⋆ dag=† pounds=£ euro=€
    ldots=… dots=… cdots=⋯ dotsc=… dotsb=⋯ vdots=⋮ ddots=⋱ $=$ %=% #=# &=& _=_ S=§ Box=□`);
  const OPERATORS = table(`cdot=⋅ times=× div=÷ pm=± mp=∓ ast=∗ bullet=∙ oplus=⊕ otimes=⊗
    leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ equiv=≡ approx=≈ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫
    leqslant=⩽ geqslant=⩾ doteq=≐ mid=∣ nmid=∤ parallel=∥ perp=⊥ in=∈ notin=∉ ni=∋ subset=⊂
    subseteq=⊆ supset=⊃ supseteq=⊇ subsetneq=⊊ cup=∪ cap=∩ setminus=∖ backslash=∖ wedge=∧ vee=∨
    land=∧ lor=∨ neg=¬ lnot=¬ forall=∀ exists=∃ to=→ rightarrow=→ leftarrow=← gets=←
    leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ iff=⟺ impliedby=⟸
    longrightarrow=⟶ Longrightarrow=⟹ mapsto=↦ uparrow=↑ downarrow=↓ therefore=∴ because=∵
    colon=: lbrace={ rbrace=} {={ }=} lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ langle=⟨ rangle=⟩
    lvert=| rvert=| vert=| Vert=‖ lVert=‖ rVert=‖ |=‖ lbrack=[ rbrack=] lparen=( rparen=)`);
  const LARGE = table(`sum=∑ prod=∏ coprod=∐ int=∫ iint=∬ iiint=∭ oint=∮ bigcup=⋃ bigcap=⋂
    bigoplus=⨁ bigvee=⋁ bigwedge=⋀`);
  const NAMES = new Set(`sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg
    exp det dim ker deg arg gcd lcm hom Pr min max sup inf lim limsup liminf`.split(/\s+/));
  const UNDER = new Set(["min", "max", "sup", "inf", "lim", "gcd", "det", "Pr", "limsup", "liminf"]);
  const SPACES = {",": ".17em", ":": ".22em", ">": ".22em", ";": ".28em", " ": ".3em",
                  "!": "-.17em", quad: "1em", qquad: "2em", enspace: ".5em", thinspace: ".17em"};
  const ACCENTS = table(`hat=^ widehat=^ bar=¯ vec=→ overrightarrow=→ dot=˙ ddot=¨
    tilde=~ widetilde=~ check=ˇ overbrace=⏞ overarc=⌒ overleftrightarrow=↔`);
  const TEXTS = new Set(`text textbf textit textrm texttt mbox hbox textnormal textsf
    operatorname operatorname*`.split(/\s+/));
  const STYLES = {mathbf: "bold", boldsymbol: "bold", bm: "bold", pmb: "bold", mathrm: "normal",
    mathbb: "double-struck", Bbb: "double-struck", mathcal: "script", mathscr: "script",
    mathfrak: "fraktur", mathsf: "sans-serif", mathtt: "monospace", mathit: "italic",
    mathnormal: "italic", rm: "normal"};
  const FENCES = {pmatrix: "()", bmatrix: "[]", Bmatrix: "{}", vmatrix: "||", Vmatrix: "‖‖",
    matrix: "", smallmatrix: "", array: "", cases: "{", aligned: "", align: "", "align*": "",
    gathered: "", gather: "", "gather*": "", alignat: "", "alignat*": "", split: "", equation: "",
    "equation*": "", eqnarray: "", "eqnarray*": "", multline: "", "multline*": "", dcases: "{"};
  const IGNORED = new Set(`displaystyle textstyle scriptstyle limits nolimits left. right. big Big
    bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr nonumber notag hline allowbreak
    protect relax quad* normalsize large Large small bf it hfill`.split(/\s+/));

  const make = (name, children = [], attributes = {}) => {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const leaf = (name, text, attributes) => make(name, [text], attributes);
  const row = (nodes) => nodes.length === 1 ? nodes[0] : make("mrow", nodes);

  /* Letters of an alphabet have code points of their own: browsers ignore mathvariant. */
  const shift = (text, style) => {
    const starts = {bold: [0x1d400, 0x1d41a, 0x1d7ce], "double-struck": [0x1d538, 0x1d552, 0x1d7d8],
      script: [0x1d49c, 0x1d4b6], fraktur: [0x1d504, 0x1d51e], "sans-serif": [0x1d5a0, 0x1d5ba, 0x1d7e2],
      monospace: [0x1d670, 0x1d68a, 0x1d7f6]}[style];
    const own = {"double-struck": {C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ"},
      script: {B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ"},
      fraktur: {C: "ℭ", H: "ℌ", I: "ℑ", R: "ℜ", Z: "ℨ"}}[style] || {};
    if (!starts) return text;
    return [...text].map((one) => {
      if (own[one]) return own[one];
      const code = one.codePointAt(0);
      if (code >= 65 && code <= 90) return String.fromCodePoint(starts[0] + code - 65);
      if (code >= 97 && code <= 122) return String.fromCodePoint(starts[1] + code - 97);
      if (code >= 48 && code <= 57 && starts[2]) return String.fromCodePoint(starts[2] + code - 48);
      return one;
    }).join("");
  };

  const tokens = (source) => {
    const found = [];
    const pattern = /\\(?:[a-zA-Z]+\*?|[\s\S]?)|[0-9]+(?:[.,][0-9]+)*|\s+|%[^\n]*\n?|[\s\S]/gu;
    for (const [one] of source.matchAll(pattern)) {
      if (/^\s+$/.test(one)) found.push(" ");
      else if (one[0] === "%") continue;
      else found.push(one);
    }
    return found;
  };

  /* Whether a minus behind this node is a sign and no subtraction. */
  const SIGNS = new Set(["−", "+", "±", "∓"]), CLOSES = new Set([")", "]", "}", "⟩", "⌋", "⌉", "|"]);
  const signs = (node) => !node || (node.localName === "mo" && !CLOSES.has(node.textContent));

  class Parser {
    constructor(source) { this.all = tokens(source); this.at = 0; this.depth = 0; this.style = ""; }
    peek() { while (this.all[this.at] === " ") this.at++; return this.all[this.at]; }
    next() { const one = this.peek(); this.at++; return one; }
    list(stops) {
      if (++this.depth > DEPTH) throw new Error("too deep");
      const nodes = [];
      for (let one = this.peek(); one !== undefined && !stops.includes(one); one = this.peek()) {
        const node = this.scripted();
        if (!node) continue;
        if (SIGNS.has(node.textContent) && node.localName === "mo" && signs(nodes.at(-1))) {
          node.setAttribute("form", "prefix");
        }
        nodes.push(node);
      }
      this.depth--;
      return nodes;
    }
    group() {
      const one = this.peek();
      if (one === undefined) return make("mrow");
      if (one !== "{") return this.atom() || make("mrow");
      this.next();
      const nodes = this.list(["}"]);
      this.next();
      return row(nodes);
    }
    raw() {
      if (this.peek() !== "{") return this.next() || "";
      this.next();
      let text = "", open = 1;
      for (; this.at < this.all.length; this.at++) {
        const one = this.all[this.at];
        if (one === "{") open++;
        if (one === "}" && --open === 0) { this.at++; break; }
        text += one;
      }
      return text;
    }
    optional() {
      if (this.peek() !== "[") return null;
      this.next();
      const nodes = this.list(["]"]);
      this.next();
      return row(nodes);
    }
    scripted() {
      let base = this.atom();
      if (!base) return null;
      let under = null, over = null, primes = "";
      for (;;) {
        const one = this.peek();
        if (one === "_" && !under) { this.next(); under = this.group(); }
        else if (one === "^" && !over) { this.next(); over = this.group(); }
        else if (one === "'") { this.next(); primes += "′"; }
        else if (one === "\\limits" || one === "\\nolimits") this.next();
        else break;
      }
      if (primes) over = row([leaf("mo", primes), ...(over ? [over] : [])]);
      if (!under && !over) return base;
      const stacked = base.limits;
      const names = stacked ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
      if (under && over) return make(names[2], [base, under, over]);
      return under ? make(names[0], [base, under]) : make(names[1], [base, over]);
    }
    letter(text) {
      if (!this.style) return leaf("mi", text);
      if (this.style === "normal") return leaf("mi", text, {mathvariant: "normal"});
      return leaf("mi", shift(text, this.style));
    }
    atom() {
      const one = this.next();
      if (one === "{") { this.at--; return this.group(); }
      if (one === "^" || one === "_") { this.at--; return make("mrow"); }
      if (one === "}" || one === "&") return null;
      if (one === "~") return make("mspace", [], {width: ".3em"});
      if (/^[0-9]/.test(one)) return leaf("mn", this.style ? shift(one, this.style) : one);
      if (one[0] !== "\\") {
        if (/^[\p{L}]$/u.test(one)) return this.letter(one);
        if (one === "-") return leaf("mo", "−");
        if (one === "*") return leaf("mo", "∗");
        if (one === "|") return leaf("mo", one, {stretchy: "false", lspace: ".1em", rspace: ".1em"});
        if ("()[]".includes(one)) return leaf("mo", one, {stretchy: "false"});
        return leaf("mo", one);
      }
      return this.command(one.slice(1));
    }
    command(name) {
      const big = /^(?:[bB]igg?[lrm]?)$/.exec(name);
      if (big) return null;
      if (name in LETTERS) return leaf("mi", LETTERS[name], {mathvariant: "normal"});
      if (name in OPERATORS) return leaf("mo", OPERATORS[name], {stretchy: "false"});
      if (name in LARGE) {
        const node = leaf("mo", LARGE[name]);
        node.limits = !name.includes("int");
        return node;
      }
      if (NAMES.has(name)) {
        const node = leaf("mi", name, {mathvariant: "normal"});
        node.limits = UNDER.has(name);
        return node;
      }
      if (name in SPACES) return make("mspace", [], {width: SPACES[name]});
      if (IGNORED.has(name)) return null;
      if (TEXTS.has(name)) return leaf("mtext", this.raw().replace(/\\([ $%#&_])/g, "$1"));
      if (name in STYLES) {
        const before = this.style;
        this.style = STYLES[name];
        const node = this.group();
        this.style = before;
        return node;
      }
      if (name in ACCENTS) {
        return make("mover", [this.group(), leaf("mo", ACCENTS[name])], {accent: "true"});
      }
      switch (name) {
        case "frac": case "dfrac": case "tfrac": case "cfrac":
          return make("mfrac", [this.group(), this.group()]);
        case "binom": case "dbinom": case "tbinom":
          return row([leaf("mo", "("), make("mfrac", [this.group(), this.group()],
            {linethickness: "0"}), leaf("mo", ")")]);
        case "sqrt": {
          const degree = this.optional(), inside = this.group();
          return degree ? make("mroot", [inside, degree]) : make("msqrt", [inside]);
        }
        case "boxed": case "fbox": {
          const node = make("mrow", [this.group()]);
          node.classList.add("boxed");
          return node;
        }
        case "cancel": case "phantom": return this.group();
        case "color": case "textcolor": this.raw(); return name === "color" ? null : this.group();
        case "overline": case "underline": {
          const node = make("mrow", [this.group()]);
          node.classList.add(name);
          return node;
        }
        case "underbrace": return make("munder", [this.group(), leaf("mo", "⏟")]);
        case "overset": case "stackrel": {
          const over = this.group();
          return make("mover", [this.group(), over]);
        }
        case "underset": {
          const under = this.group();
          return make("munder", [this.group(), under]);
        }
        case "not": return leaf("mo", (this.next() || "") === "=" ? "≠" : "¬");
        case "pmod": return row([leaf("mo", "("), leaf("mi", "mod"),
          make("mspace", [], {width: ".3em"}), this.group(), leaf("mo", ")")]);
        case "bmod": case "mod": return leaf("mo", " mod ");
        case "tag": case "tag*": return leaf("mtext", "  (" + this.raw() + ")");
        case "label": this.raw(); return null;
        case "left": return this.fenced();
        case "middle": return leaf("mo", this.fence());
        case "right": this.fence(); return null;
        case "begin": return this.environment();
        case "end": this.raw(); return null;
        case "\\": case "newline": case "cr": return make("mspace", [], {linebreak: "newline"});
        default: {
          const node = leaf("mtext", "\\" + name);
          node.classList.add("unknown");
          return node;
        }
      }
    }
    fence() {
      const one = this.next() || "";
      if (one === ".") return "";
      if (one[0] !== "\\") return one;
      return OPERATORS[one.slice(1)] || "";
    }
    fenced() {
      const open = this.fence(), nodes = this.list(["\\right"]);
      let close = "";
      if (this.peek() === "\\right") { this.next(); close = this.fence(); }
      const mark = (text) => text ? [leaf("mo", text, {stretchy: "true"})] : [];
      return make("mrow", [...mark(open), ...nodes, ...mark(close)]);
    }
    environment() {
      const name = this.raw();
      if (!(name in FENCES)) {
        const node = leaf("mtext", "\\begin{" + name + "}");
        node.classList.add("unknown");
        return node;
      }
      if (name === "array" || name.startsWith("alignat")) this.raw();
      const rows = [[]];
      let cell = [];
      for (let one = this.peek(); one !== undefined && one !== "\\end"; one = this.peek()) {
        if (one === "&") { this.next(); rows.at(-1).push(cell); cell = []; }
        else if (one === "\\\\" || one === "\\cr") {
          this.next();
          if (this.peek() === "[") this.optional();
          rows.at(-1).push(cell); cell = []; rows.push([]);
        } else cell.push(...this.list(["&", "\\\\", "\\cr", "\\end"]));
      }
      if (this.peek() === "\\end") { this.next(); this.raw(); }
      if (cell.length || rows.at(-1).length) rows.at(-1).push(cell);
      if (!rows.at(-1).length) rows.pop();
      const body = make("mtable", rows.map((cells) => make("mtr", cells.map((nodes) =>
        make("mtd", nodes)))));
      if (/align|split|eqnarray/.test(name)) body.classList.add("aligned");
      if (/cases/.test(name)) body.classList.add("cases");
      const [open, close] = [...FENCES[name]];
      const mark = (text) => text ? [leaf("mo", text, {stretchy: "true"})] : [];
      return make("mrow", [...mark(open), body, ...mark(close)]);
    }
  }

  /* A <math> element; or the source in <code> if it is too long or does not parse. */
  const math = (source, display) => {
    try {
      if (source.length > LIMIT) throw new Error("too long");
      const parser = new Parser(source);
      const nodes = [];
      while (parser.peek() !== undefined) nodes.push(...parser.list([]), ...(parser.next(), []));
      const node = make("math", [make("mrow", nodes)], display ? {display: "block"} : {});
      node.setAttribute("alttext", source);
      return node;
    } catch {
      const code = document.createElement("code");
      code.textContent = source;
      return code;
    }
  };

  const PATTERN = new RegExp([
    String.raw`\$\$([\s\S]{1,4000}?)\$\$`,
    String.raw`\\\[([\s\S]{1,4000}?)\\\]`,
    String.raw`\\\(([\s\S]{1,2000}?)\\\)`,
    String.raw`(\\begin\{(align|equation|gather|eqnarray|multline)(\*?)\}[\s\S]{1,4000}?\\end\{\5\6\})`,
    String.raw`\$(?![\s$])((?:[^$\\\n]|\\[\s\S]|\n(?!\s*\n)){1,1000}?)(?<!\s)\$(?!\d)`,
    String.raw`(\\boxed\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})`,
  ].join("|"), "g");

  /* The nodes of a text: prose as it is, maths as <math>. */
  const nodes = (text) => {
    const out = [];
    let last = 0;
    for (const found of text.matchAll(PATTERN)) {
      const display = found[1] ?? found[2] ?? found[4];
      const before = text.slice(last, found.index);
      /* A displayed formula breaks the line by itself. */
      if (before) out.push(display === undefined ? before : before.replace(/[ \t]*\n?[ \t]*$/, ""));
      out.push(math(display ?? found[3] ?? found[7] ?? found[8], display !== undefined));
      last = found.index + found[0].length;
      if (display !== undefined) last += /^[ \t]*\n?[ \t]*/.exec(text.slice(last, last + 100))[0].length;
    }
    if (last < text.length) out.push(text.slice(last));
    return out;
  };
  return {math, nodes};
})();
