package bench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report as the tables of a document.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%s*\n\n", r.headline())
	head(&b, "what", "metric", "value", "control", "goal", "verdict")
	for _, l := range r.Lines {
		row(&b, l.Name, l.Metric, l.Value.text(l.decimals()), l.control(), l.goal(), l.verdict())
	}
	if len(r.Rows) > 0 {
		b.WriteString("\nRatios at every point, with the yardstick against itself behind them:\n\n")
		head(&b, "point", "of", "calls/s", "p50", "p99", "CPU/call", "control calls/s")
	}
	for _, x := range r.Rows {
		m := x.Ratio
		row(&b, x.Name, x.Against, m.Throughput.text(2), m.P50.text(2), m.P99.text(2), m.CPU.text(2), x.Control.Throughput.text(2))
	}
	if len(r.Points) > 0 {
		b.WriteString("\nAbsolute figures, medians; they hold for this machine and hour alone:\n\n")
		head(&b, "point", "target", "calls/s", "p50 us", "p99 us", "CPU us/call", "MiB", "other cores")
	}
	for _, p := range r.Points {
		for i, m := range p.Targets {
			name, other := "", ""
			if i == 0 {
				name, other = p.Name, p.Other.text(2)
			}
			row(&b, name, m.Name, m.Throughput.middle(), m.P50.middle(), m.P99.middle(), m.CPU.middle(), m.Memory.middle(), other)
		}
	}
	a := r.Answers
	fmt.Fprintf(&b, "\nAnswers: %d right, %d failed, %d wrong, %d crossed.\n", a.Right, a.Failed, a.Wrong, a.Crossed)
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "\nNote: %s.\n", strings.TrimSuffix(note, "."))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func head(b *bytes.Buffer, cells ...string) {
	row(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

func row(b *bytes.Buffer, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
