// Package admission decides what a principal may bring: which command the
// machine runs, which reference it reads, which document it opens, which name a
// server takes and who owns it.
//
// Definitions enter in many ways: they are added, changed, previewed, imported,
// applied, tried without being stored. All of them pass one Judge, because whoever
// acts on a definition asks for a value that only this package makes:
//
//   - credential reads a Reference, or the references of a Connection,
//   - upstream starts a Command,
//   - the readers of API documents open a Document,
//   - store writes a Server.
//
// The zero value of each admits nothing. What the store holds was judged when it
// was written, so Stored makes a Server of a row again; only store calls it, which
// a test in the root of the module holds.
//
// Read admission.go (the judge) first, then server.go and document.go (what it
// gives). The package imports nothing of ours but package junctor, so that ground
// can ask for its values.
package admission

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Options is what a Judge needs to know of its instance.
type Options struct {
	// AllowCommands lets operators bring commands through the API
	// (--allow-commands); the local socket and the settings file always may.
	AllowCommands bool
	// CheckReference refuses a reference that nobody may have read, whoever names
	// it: what the instance keeps for itself. Required.
	CheckReference func(reference string) error
	// Reserved tells who owned a server that was removed not long ago, whose name
	// is kept for them and for admins; "" where the name is free. It may be nil.
	Reserved func(ctx context.Context, tenant junctor.TenantID, id string) (owner string, until time.Time, err error)
	// Refused is called with every refusal, to put it on record. It may be nil.
	Refused func(ctx context.Context, p *junctor.Principal, id string, refusal error)
}

// Judge decides what principals may bring. It is safe for use by several
// goroutines.
type Judge struct{ o Options }

// New makes a Judge.
func New(o Options) *Judge { return &Judge{o} }

// RunsCommands reports whether a principal may have commands run on this machine:
// the operator at the local socket, or an admin of the default tenant where the
// operator allows it.
func (j *Judge) RunsCommands(p *junctor.Principal) bool {
	return p.Issuer == junctor.IssuerLocal || p.Operator() && j.o.AllowCommands
}

// Owns reports whether a principal may change what owner added: the owner and an
// admin of the tenant. A service owns what it added with its key.
func Owns(p *junctor.Principal, owner string) bool {
	return p.Has(junctor.ScopeAdmin) || p.Is(owner)
}

// Reference judges a single reference that p names, such as the secret of a
// source.
func (j *Judge) Reference(ctx context.Context, p *junctor.Principal, id, text string) (Reference, error) {
	err := j.checkReference(p, text)
	j.record(ctx, p, id, err)
	if err != nil {
		return Reference{}, err
	}
	return Reference{text}, nil
}

// checkReference refuses a reference that p may not enter.
func (j *Judge) checkReference(p *junctor.Principal, reference string) error {
	if err := j.o.CheckReference(reference); err != nil {
		return err
	}
	switch {
	case j.RunsCommands(p):
		return nil
	case junctor.IsCommandReference(reference):
		return junctor.Errorf(junctor.CodeDenied, "a credential that a command gives comes from the operator: add it with the command line on this machine")
	case !p.Operator():
		return junctor.Errorf(junctor.CodeDenied, "a credential that is read from this machine needs the scope admin in the tenant %s", junctor.DefaultTenant)
	}
	return nil
}

// record puts a refusal on record. An error that is no refusal is the caller's
// mistake, and is not.
func (j *Judge) record(ctx context.Context, p *junctor.Principal, id string, err error) {
	if j.o.Refused != nil && junctor.CodeOf(err) == junctor.CodeDenied {
		j.o.Refused(ctx, p, id, err)
	}
}

// Reference is a reference that may be read.
type Reference struct{ text string }

// String is the reference itself, such as env:NAME; "" for the zero Reference,
// which cannot be read.
func (r Reference) String() string { return r.text }

// Operator judges a reference that the settings name: whoever writes them runs the
// instance. Only what the instance keeps for itself is refused.
func (j *Judge) Operator(text string) (Reference, error) {
	if err := j.o.CheckReference(text); err != nil {
		return Reference{}, err
	}
	return Reference{text}, nil
}
