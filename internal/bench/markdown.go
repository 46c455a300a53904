package bench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report as the tables of a Markdown document.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%s*\n\n", r.formatHeadline())
	writeHead(&b, "what", "metric", "value", "control", "goal", "verdict")
	for _, l := range r.Lines {
		writeRow(&b, l.Name, l.Metric, l.Value.formatRange(l.decimalPlaces()), l.formatControl(), l.formatGoal(), l.formatVerdict())
	}
	if len(r.Rows) > 0 {
		b.WriteString("\nRatios at every point, with the yardstick against itself behind them:\n\n")
		writeHead(&b, "point", "of", "calls/s", "p50", "p99", "CPU/call", "control calls/s")
	}
	for _, x := range r.Rows {
		m := x.Ratio
		writeRow(&b, x.Name, x.Against, m.Throughput.formatRange(2), m.P50.formatRange(2), m.P99.formatRange(2), m.CPU.formatRange(2), x.Control.Throughput.formatRange(2))
	}
	if len(r.Points) > 0 {
		b.WriteString("\nAbsolute figures, medians; they hold for this machine and hour alone:\n\n")
		writeHead(&b, "point", "target", "calls/s", "p50 us", "p99 us", "CPU us/call", "MiB", "other cores")
	}
	for _, p := range r.Points {
		for i, m := range p.Targets {
			name, other := "", ""
			if i == 0 {
				name, other = p.Name, p.OtherCores.formatRange(2)
			}
			writeRow(&b, name, m.Name, m.Throughput.formatMedian(), m.P50.formatMedian(), m.P99.formatMedian(), m.CPU.formatMedian(), m.Memory.formatMedian(), other)
		}
	}
	a := r.Answers
	fmt.Fprintf(&b, "\nAnswers: %d right, %d failed, %d wrong, %d crossed.\n", a.Right, a.Failed, a.Wrong, a.Crossed)
	for _, note := range r.allNotes() {
		fmt.Fprintf(&b, "\nNote: %s.\n", strings.TrimSuffix(note, "."))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeHead writes the header of a table.
func writeHead(b *bytes.Buffer, cells ...string) {
	writeRow(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

// writeRow writes a row of a table.
func writeRow(b *bytes.Buffer, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
