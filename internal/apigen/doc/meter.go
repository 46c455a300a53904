package doc

import (
	"context"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSteps bounds the work on one document, in steps of less than a
// microsecond. The largest documents that are known take a fiftieth of it.
const maxSteps = 20_000_000

// Limits of one operation. What exceeds them is shown to people with the reason
// and becomes no tool.
const (
	maxPathBytes     = 4 << 10 // bytes
	maxPathVariables = 100     // in a path
	maxParameters    = 1000
)

// Meter bounds the work that goes into one document: it ends with its context
// and after a number of steps. Whoever loops over what a document says spends
// steps, and leaves the loop by a panic that Run turns into an error, so that
// recursion need not hand an error back through every level. A nil Meter bounds
// nothing. It is for one goroutine.
type Meter struct {
	ctx          context.Context //nolint:containedctx // it lives for one document
	stepsLeft    int
	stepsToCheck int    // steps until the context is looked at
	subject      string // what is being worked on, for the error
}

// meterKey is the key of the Meter in a context.
type meterKey struct{}

// meterPanic is what Spend panics with.
type meterPanic struct{ err error }

// WithMeter gives a context that carries a Meter for one document. A context
// that has one keeps it: reading and making tools share their budget.
func WithMeter(ctx context.Context) (context.Context, *Meter) {
	if m := MeterOf(ctx); m != nil {
		return ctx, m
	}
	m := &Meter{ctx: ctx, stepsLeft: maxSteps}
	return context.WithValue(ctx, meterKey{}, m), m
}

// MeterOf is the Meter that a context carries, or nil.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// At says what is being worked on.
func (m *Meter) At(where string) {
	if m != nil {
		m.subject = where
	}
}

// Spend takes steps from the budget, and ends the work where nothing is left or
// nobody waits for it any more.
func (m *Meter) Spend(steps int) {
	if m == nil {
		return
	}
	m.stepsLeft -= steps
	if m.stepsToCheck -= steps; m.stepsToCheck > 0 && m.stepsLeft >= 0 {
		return
	}
	m.stepsToCheck = 2000
	if err := m.ctx.Err(); err != nil {
		panic(meterPanic{junctor.AsError(err)})
	}
	if m.stepsLeft < 0 {
		at := ""
		if m.subject != "" {
			at = " at " + truncateText(m.subject, 200)
		}
		panic(meterPanic{junctor.Errorf(junctor.CodeTooLarge, "the document takes more work than it may%s: its references, parameters or choices multiply; cut it into several documents, or take that part out", at)})
	}
}

// Spent is how many steps were taken.
func (m *Meter) Spent() int { return maxSteps - m.stepsLeft }

// Run calls work, and gives the error that ended it early.
func (m *Meter) Run(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			ended, ok := p.(meterPanic)
			if !ok {
				panic(p)
			}
			err = ended.err
		}
	}()
	work()
	return nil
}

// TooLarge says why an operation is larger than one may be, or "".
func (op *Operation) TooLarge() string {
	switch {
	case len(op.Path) > maxPathBytes:
		return fmt.Sprintf("Its path has %d bytes; at most %d are taken.", len(op.Path), maxPathBytes)
	case len(op.Params) > maxParameters:
		return fmt.Sprintf("It has %d parameters; at most %d are taken.", len(op.Params), maxParameters)
	}
	if n := len(templateVariable.FindAllStringIndex(op.Path, maxPathVariables+1)); n > maxPathVariables {
		return fmt.Sprintf("Its path has more than %d variables.", maxPathVariables)
	}
	return ""
}
