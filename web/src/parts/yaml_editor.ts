// SPDX-License-Identifier: Apache-2.0
/**
 * CodeMirror with YAML, a separate file loaded with the first editor, because most readers never need it. It is in a
 * shadow root, where its styles are constructed sheets, which a strict policy allows.
 */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Problem } from "../api/types";

export interface EditorOptions {
  readonly text: string;
  readonly label: string;
  readonly readonly: boolean;
  /** Called with the whole text after every change, by the reader or by the page. */
  readonly changed: (text: string) => void;
}

// CSS variables of the page apply in shadow roots: one theme for light and dark.
const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", color: "var(--text)", backgroundColor: "var(--raised)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--grid)" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", fontSize: "12px" },
});
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--line-2)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.separator, tags.punctuation, tags.meta, tags.keyword], color: "var(--quiet)" },
]);

export class YamlEditor {
  private readonly view: EditorView;

  constructor(place: HTMLElement, private readonly options: EditorOptions) {
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const parent = document.createElement("div");
    parent.style.height = "100%";
    root.replaceChildren(parent);
    this.view = new EditorView({ state: this.state(options.text), parent, root });
    this.view.scrollDOM.tabIndex = 0; // makes long lines scrollable by keys
  }

  /** Replace the text, and clear the undo history. */
  show(text: string): void {
    if (text !== this.view.state.doc.toString()) this.view.setState(this.state(text));
  }

  /** Mark the lines with problems. */
  mark(problems: readonly Problem[]): void {
    const { doc } = this.view.state;
    const diagnostics = problems
      .filter((problem) => problem.line !== undefined && problem.line <= doc.lines)
      .map((problem) => {
        const line = doc.line(problem.line ?? 1);
        return { from: line.from, to: line.to, severity: "error" as const, message: problem.message };
      });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  destroy(): void {
    this.view.destroy();
  }

  private state(text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        lintGutter(),
        yaml(),
        theme,
        syntaxHighlighting(colours),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorState.readOnly.of(this.options.readonly),
        EditorView.contentAttributes.of({ "aria-label": this.options.label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.options.changed(update.state.doc.toString());
        }),
      ],
    });
  }
}
