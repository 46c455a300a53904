package doc

import (
	"context"
	"fmt"

	junctor "github.com/junctor-mcp/junctor"
)

// maxSteps bounds the work on one document, in steps of less than a
// microsecond: at most some twenty seconds. The largest known documents take a
// fiftieth of it.
const maxSteps = 20_000_000

// Limits of one operation. An operation beyond them becomes no tool; users see
// it with the reason.
const (
	maxPathBytes     = 4 << 10 // bytes
	maxPathVariables = 100     // in a path
	maxParameters    = 1000
)

// Meter bounds the work on one document: the work ends with its context, or
// after a number of steps. Every loop over the content of a document spends
// steps. Spend leaves the loop by a panic that Run turns into an error, so that
// recursive code need not return an error through every level.
//
// A nil Meter bounds nothing. A Meter is for one goroutine.
type Meter struct {
	ctx       context.Context //nolint:containedctx // it lives for one document
	stepsLeft int
	// stepsToCheck counts down to the next look at the context, which is too
	// slow to ask for at every step.
	stepsToCheck int
	// subject is the operation that is being worked on, for the error.
	subject string
}

// meterKey is the context key of the Meter.
type meterKey struct{}

// meterPanic is the value that Spend panics with and that Run recovers.
type meterPanic struct{ err error }

// WithMeter returns a context that carries a Meter for one document. If the
// context already carries one, it is kept: reading a document and building its
// tools share one budget.
func WithMeter(ctx context.Context) (context.Context, *Meter) {
	if m := MeterFromContext(ctx); m != nil {
		return ctx, m
	}
	m := &Meter{ctx: ctx, stepsLeft: maxSteps}
	return context.WithValue(ctx, meterKey{}, m), m
}

// MeterFromContext returns the Meter that a context carries, or nil.
func MeterFromContext(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// SetSubject sets the subject that an error of Spend names, such as the key of an
// operation.
func (m *Meter) SetSubject(where string) {
	if m != nil {
		m.subject = where
	}
}

// Spend takes steps from the budget. It panics, for Run, if the budget is used
// up or the context has ended. Call it only below Run.
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
			at = " at " + junctor.ShortenText(m.subject, 200)
		}
		panic(meterPanic{junctor.Errorf(junctor.CodeTooLarge, "the document is too expensive to process%s: its references, parameters or choices multiply; split it into several documents, or remove that part", at)})
	}
}

// StepsSpent returns the number of steps that were taken. Tests hold it against the
// size of documents.
func (m *Meter) StepsSpent() int { return maxSteps - m.stepsLeft }

// Run calls work and returns the error with which Spend ended it early. Other
// panics pass through.
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

// SizeProblem says, in a sentence for users, why an operation exceeds the limits.
// It returns "" for an operation within them.
func (op *Operation) SizeProblem() string {
	switch {
	case len(op.Path) > maxPathBytes:
		return fmt.Sprintf("Its path has %d bytes; at most %d are allowed.", len(op.Path), maxPathBytes)
	case len(op.Params) > maxParameters:
		return fmt.Sprintf("It has %d parameters; at most %d are allowed.", len(op.Params), maxParameters)
	}
	if n := len(templateVariable.FindAllStringIndex(op.Path, maxPathVariables+1)); n > maxPathVariables {
		return fmt.Sprintf("Its path has more than %d variables.", maxPathVariables)
	}
	return ""
}
