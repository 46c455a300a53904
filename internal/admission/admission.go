// Package admission decides what a principal may define: which command the
// machine runs, which reference it reads, which document it opens, which name a
// server takes and who owns it.
//
// Definitions enter in many ways: they are added, changed, previewed, imported, applied,
// or tried without being stored. All of them pass one Judge, because every package that
// acts on a definition requires a value that only this package makes:
//
//   - credential reads a Reference, or the references of a Connection,
//   - upstream starts a Command,
//   - the readers of API documents open a Document,
//   - store writes a Server.
//
// The zero value of each admits nothing. A stored row was judged when it was written, so
// Stored makes a Server of it without a judge. Only store calls Stored, which a test in
// the root of the module checks.
//
// Read admission.go (the judge) first, then server.go and document.go (its
// verdicts), then vouching.go (who may vouch for what a tool does). Of this
// module the package imports only package junctor, so that ground packages can
// require its values.
package admission

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Options describes the instance to a Judge.
type Options struct {
	// AllowCommands lets operators define commands through the API
	// (--allow-commands). The local socket and the settings file may always
	// define them.
	AllowCommands bool
	// ThisMachineOnly says that only this machine reaches the instance.
	ThisMachineOnly bool
	// CheckReference refuses references that no principal may use: those to the instance's
	// own secrets. Required.
	CheckReference func(reference string) error
	// Reserved returns who owned a server of that id that was removed recently, and until
	// when the id is reserved for that owner and for admins. owner is "" if the id is
	// free. It may be nil.
	Reserved func(ctx context.Context, tenant junctor.TenantID, id string) (owner string, until time.Time, err error)
	// Refused is called with every refusal, to record it. It may be nil.
	Refused func(ctx context.Context, p *junctor.Principal, id string, refusal error)
}

// Judge decides what principals may define. It is safe for concurrent use.
type Judge struct{ options Options }

// New returns a Judge.
func New(o Options) *Judge { return &Judge{o} }

// RunsCommands reports whether a principal may have commands run on this machine. These
// are the operator at the local socket, and an admin of the default tenant if
// AllowCommands is set.
func (j *Judge) RunsCommands(p *junctor.Principal) bool {
	return p.Issuer == junctor.IssuerLocal || p.Operator() && j.options.AllowCommands
}

// MayNameThisMachine reports whether what a principal defines may be at a loopback address.
// It may for the operator at the local socket. While only this machine reaches the instance,
// it may for an admin of the default tenant: who signs in there can reach these addresses.
func (j *Judge) MayNameThisMachine(p *junctor.Principal) bool {
	return MayNameThisMachine(p, j.options.ThisMachineOnly)
}

// MayNameThisMachine is [Judge.MayNameThisMachine] for those who need nothing else of a Judge.
func MayNameThisMachine(p *junctor.Principal, thisMachineOnly bool) bool {
	return p.Issuer == junctor.IssuerLocal || thisMachineOnly && p.Operator() && p.Agent == ""
}

// Owns reports whether a principal may change a thing of owner: the owner itself and an
// admin of the tenant may. A service owns what it added with its key.
func Owns(p *junctor.Principal, owner string) bool {
	return p.Has(junctor.ScopeAdmin) || p.Is(owner)
}

// Reference judges a single reference that p names, such as the secret of a source. id
// names the thing for the record of a refusal.
func (j *Judge) Reference(ctx context.Context, p *junctor.Principal, id, text string) (Reference, error) {
	err := j.checkReference(p, text)
	j.recordRefusal(ctx, p, id, err)
	if err != nil {
		return Reference{}, err
	}
	return Reference{text}, nil
}

// checkReference refuses a reference that p may not enter.
func (j *Judge) checkReference(p *junctor.Principal, reference string) error {
	if err := j.options.CheckReference(reference); err != nil {
		return err
	}
	switch {
	case j.RunsCommands(p):
		return nil
	case junctor.IsCommandReference(reference):
		return junctor.Errorf(junctor.CodeDenied, "only the operator can add a credential that a command prints (cmd:…): use the command line on this machine")
	case !p.Operator():
		return junctor.Errorf(junctor.CodeDenied, "a credential that is read from this machine needs the scope admin in the tenant %s", junctor.DefaultTenant)
	}
	return nil
}

// recordRefusal reports an error to Options.Refused if it is a refusal. Any other error is
// a mistake in the request, and is not recorded.
func (j *Judge) recordRefusal(ctx context.Context, p *junctor.Principal, id string, err error) {
	if j.options.Refused != nil && junctor.CodeOf(err) == junctor.CodeDenied {
		j.options.Refused(ctx, p, id, err)
	}
}

// Reference is a reference that was admitted and may be read.
type Reference struct{ text string }

// String returns the reference itself, such as env:NAME; "" for the zero Reference, which
// cannot be read.
func (r Reference) String() string { return r.text }

// Operator judges a reference in the settings. The author of the settings runs the
// instance, so that only references to the instance's own secrets are refused.
func (j *Judge) Operator(text string) (Reference, error) {
	if err := j.options.CheckReference(text); err != nil {
		return Reference{}, err
	}
	return Reference{text}, nil
}
