package bench

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// disturbedCores is how many cores other processes may keep busy before a round
// is repeated and, in the end, a row is marked.
const disturbedCores = 0.15

// legend explains the yardsticks in the report.
const legend = "Ratios are Junctor's part of a yardstick in the same round: median (range). direct is the upstream itself, rev httputil.ReverseProxy before it,\n" +
	"ungated Junctor without limits, argument checks and records, raw net/http with encoding/json, twin Junctor without records; control is the\n" +
	"yardstick against itself, 1.00 without noise."

// WriteTable writes the report as aligned text for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := newTable()
	t.addLine("%s", r.formatHeadline())
	t.addLine(legend + "\n")

	t.addLine("what\tmetric\tvalue\tcontrol\tgoal\tverdict")
	for _, l := range r.Lines {
		t.addLine("%s\t%s\t%s\t%s\t%s\t%s", l.Name, l.Metric, l.Value.formatRange(l.decimalPlaces()), l.formatControl(), l.formatGoal(), l.formatVerdict())
	}
	t.addLine("")

	if len(r.Rows) > 0 {
		t.addLine("point\tagainst\tcalls/s\tp50\tadded p50\tp99\tCPU/call")
	}
	for _, row := range r.Rows {
		m, c := row.Ratio, row.Control
		t.addLine("%s\t%s\t%s\t%s\t%s\t%s\t%s", row.Name, row.Against, m.Throughput.formatRange(2), m.P50.formatRange(2), m.Added.formatRange(2), m.P99.formatRange(2), m.CPU.formatRange(2))
		t.addLine("\tcontrol\t%s\t%s\t%s\t%s\t%s", c.Throughput.formatRange(2), c.P50.formatRange(2), c.Added.formatRange(2), c.P99.formatRange(2), c.CPU.formatRange(2))
	}
	t.addLine("")

	if len(r.Points) > 0 {
		t.addLine("point\ttarget\tcalls/s\tp50 us\tp99 us\tCPU us/call\tMiB\tother cores\trepeated")
	}
	for _, p := range r.Points {
		for i, m := range p.Targets {
			name, other, repeated := "", "", ""
			if i == 0 {
				name, other, repeated = p.Name, p.OtherCores.formatRange(2), fmt.Sprint(p.Repeated)
			}
			t.addLine("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", name, m.Name, m.Throughput.formatMedian(), m.P50.formatMedian(), m.P99.formatMedian(), m.CPU.formatMedian(), m.Memory.formatMedian(), other, repeated)
		}
	}
	t.addLine("")

	a := r.Answers
	t.addLine("answers: %d right, %d failed, %d wrong, %d crossed", a.Right, a.Failed, a.Wrong, a.Crossed)
	for _, note := range r.allNotes() {
		t.addLine("note: %s", note)
	}
	for _, f := range r.Failures {
		t.addLine("FAILED: %s", f)
	}
	return t.writeTo(w)
}

// formatHeadline describes the program, the machine and the run in one line.
func (r *Report) formatHeadline() string {
	machine := fmt.Sprintf("%d CPUs", r.CPUs)
	if r.CPU != "" {
		machine = r.CPU + ", " + machine
	}
	return fmt.Sprintf("junctor %s, %s, %d rounds of %s at each point, %s %s/%s, %s", r.Version, r.Date.Format("2006-01-02 15:04 MST"), r.Rounds, r.Duration, r.Go, r.OS, r.Arch, machine)
}

// allNotes returns the notes of the run, and one about noise if there was any.
func (r *Report) allNotes() []string {
	for _, l := range r.Lines {
		if l.Disturbed {
			return append(slices.Clip(r.Notes), "* strangers kept the machine busy, in spite of repeated rounds: repeat when it is quiet")
		}
	}
	return r.Notes
}

// formatControl returns the control as text; "" if there is none.
func (l Line) formatControl() string {
	if l.Control == nil {
		return ""
	}
	return l.Control.formatRange(2)
}

// formatGoal returns the goal as text; "" if there is none.
func (l Line) formatGoal() string {
	if l.Goal == nil {
		return ""
	}
	return l.Goal.formatLimit()
}

// formatVerdict returns the verdict, with an asterisk if other processes
// disturbed the measurement.
func (l Line) formatVerdict() string {
	if l.Disturbed {
		return string(l.Verdict) + " *"
	}
	return string(l.Verdict)
}

// table aligns its cells in memory.
type table struct {
	text  *bytes.Buffer
	cells *tabwriter.Writer
}

// newTable returns an empty table.
func newTable() *table {
	text := new(bytes.Buffer)
	return &table{text, tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)}
}

// addLine adds a line whose cells are separated by tabs.
func (t *table) addLine(format string, args ...any) {
	_, _ = fmt.Fprintf(t.cells, format+"\n", args...) // into memory
}

// writeTo writes the lines without the trailing spaces of empty cells.
func (t *table) writeTo(w io.Writer) error {
	if err := t.cells.Flush(); err != nil {
		return err
	}
	var out []byte
	for line := range bytes.Lines(t.text.Bytes()) {
		out = append(append(out, bytes.TrimRight(line, " \n")...), '\n')
	}
	_, err := w.Write(out)
	return err
}

// formatRange returns the median with its range; "-" if nothing was measured.
func (s Stat) formatRange(decimals int) string {
	switch {
	case s.N == 0:
		return "-"
	case s.Min == s.Max:
		return fmt.Sprintf("%.*f", decimals, s.Median)
	}
	return fmt.Sprintf("%.*f (%.*f-%.*f)", decimals, s.Median, decimals, s.Min, decimals, s.Max)
}

// formatMedian returns only the median, as a whole number.
func (s Stat) formatMedian() string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", s.Median)
}
