package bench

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
)

// disturbed is how many cores strangers may keep busy before a row is marked.
const disturbed = 0.15

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := newTable()
	t.line("%d rounds of %s at each point, %s %s/%s, %d CPUs", r.Pairs, r.Duration, r.Go, r.OS, r.Arch, r.CPUs)
	t.line("Junctor with every gate on, as a part of a yardstick: median (range). raw is net/http with encoding/json, rev httputil.ReverseProxy before it;")
	t.line("twin is Junctor without records; control is the yardstick against itself, 1.00 without noise.\n")

	t.line("point\tagainst\tcalls/s\tp50\tp99\tCPU/call\tgoal\tverdict")
	for _, row := range r.Rows {
		goal, verdict := "", Verdict("")
		if row.Goal != nil {
			goal, verdict = "CPU "+row.Goal.text(), row.Goal.Verdict
			if row.Against == Twin {
				goal = "calls/s " + row.Goal.text()
			}
		}
		m, c := row.Ratio, row.Control
		t.line("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", row.Name, row.Against, m.Throughput.text(2), m.P50.text(2), m.P99.text(2), m.CPU.text(2), goal, verdict)
		t.line("\tcontrol\t%s\t%s\t%s\t%s\t\t", c.Throughput.text(2), c.P50.text(2), c.P99.text(2), c.CPU.text(2))
	}
	t.line("")

	t.line("point\ttarget\tcalls/s\tp50 us\tp99 us\tCPU us/call\tother cores")
	noisy := false
	for _, p := range r.Points {
		other := p.Other.text(2)
		if p.Other.Median > disturbed {
			other += " *"
			noisy = true
		}
		t.absolute(p.Name, "junctor", p.Junctor, other)
		t.absolute("", Raw, p.Raw, "")
		t.absolute("", Rev, p.Rev, "")
		if p.Twin != nil {
			t.absolute("", Twin, *p.Twin, "")
		}
	}
	if noisy {
		t.line("* strangers kept the machine busy: repeat when it is quiet")
	}
	t.line("")

	t.line("figure\tmedian (range)\tunit\tgoal\tverdict")
	for _, f := range r.Figures {
		goal, verdict := "", Verdict("")
		if f.Goal != nil {
			goal, verdict = f.Goal.text(), f.Goal.Verdict
		}
		t.line("%s\t%s\t%s\t%s\t%s", f.Name, f.Value.text(1), f.Unit, goal, verdict)
	}
	t.line("")

	a := r.Answers
	t.line("answers: %d right, %d failed, %d wrong, %d crossed", a.Right, a.Failed, a.Wrong, a.Crossed)
	for _, note := range r.Notes {
		t.line("note: %s", note)
	}
	for _, f := range r.Failures {
		t.line("FAILED: %s", f)
	}
	return t.writeTo(w)
}

// table aligns its cells in memory.
type table struct {
	text  *bytes.Buffer
	cells *tabwriter.Writer
}

func newTable() *table {
	text := new(bytes.Buffer)
	return &table{text, tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)}
}

func (t *table) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t.cells, format+"\n", args...) // into memory
}

func (t *table) absolute(point, name string, m Measures, other string) {
	t.line("%s\t%s\t%s\t%s\t%s\t%s\t%s", point, name, m.Throughput.middle(), m.P50.middle(), m.P99.middle(), m.CPU.middle(), other)
}

// writeTo writes the lines without the spaces that empty cells leave at their ends.
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

// text is the median with its range.
func (s Stat) text(decimals int) string {
	switch s.N {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.*f", decimals, s.Median)
	}
	return fmt.Sprintf("%.*f (%.*f-%.*f)", decimals, s.Median, decimals, s.Min, decimals, s.Max)
}

// middle is the median alone, as a whole number.
func (s Stat) middle() string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", s.Median)
}
