package servers

import (
	"context"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/builtin/dashboard"
	"github.com/junctor-mcp/junctor/internal/builtin/demo"
	"github.com/junctor-mcp/junctor/internal/builtin/ocr"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// BuiltinServer is a server inside the binary. Only this package imports package builtin:
// others pass such a server on under this name.
type BuiltinServer = builtin.Server

// BinaryOptions are what the servers inside the binary need.
type BinaryOptions struct {
	Calls  CallSource // for the dashboard
	Events Events     // for the events server

	OCRRoots     []string // folders whose images the OCR server may read
	OCRVisionURL string   // base URL of Cloud Vision; "" means Google's own

	// Extra are more servers, for a process that embeds this one.
	Extra []*BuiltinServer
	// Offered are the ids of those that the default tenant offers. Any other one only
	// stays where it was offered before.
	Offered []string
}

// CallSource gives the newest calls to the dashboard.
type CallSource interface {
	// NewestCalls returns the calls since a time that match and that the principal may
	// know, newest first, without the parts that it may not read. all reports that there
	// are no more.
	NewestCalls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) (calls []junctor.Call, all bool, err error)
}

// AddBinaryServers registers the servers inside the binary, and stores a row
// for each that is offered. A server whose row was removed is not stored again. AttachAll attaches them.
func (s *Registry) AddBinaryServers(ctx context.Context, o BinaryOptions) error {
	demoServer, err := demo.New(s.o.Log)
	if err != nil {
		return err
	}
	ocrServer, err := ocr.New(ocr.Options{
		Roots: o.OCRRoots, VisionURL: o.OCRVisionURL, Client: s.o.Egress.Client(egress.ClientOptions{Timeout: time.Minute, MaxBytes: ocr.MaxAnswer}),
		Credentials: storedCredentials{s.o.Vault}, Logger: s.o.Log,
	})
	if err != nil {
		return err
	}
	board, err := dashboard.New(dashboard.Options{Source: dashboardSource{AdminAPI{Registry: s}, o.Calls}, Now: time.Now, Logger: s.o.Log})
	if err != nil {
		return err
	}
	eventsServer, err := newEventsServer(o.Events, s.o.Log)
	if err != nil {
		return err
	}
	own := []*builtin.Server{demoServer, ocrServer, board}
	offered := slices.Clone(o.Extra)
	for _, id := range o.Offered {
		i := slices.IndexFunc(own, func(b *builtin.Server) bool { return b.ID() == id })
		if i < 0 {
			return junctor.Errorf(junctor.CodeInvalid, "there is no built-in server %q", id)
		}
		offered = append(offered, own[i])
	}
	for _, b := range offered {
		if err := s.o.Store.For(junctor.DefaultTenant).EnsureBuiltin(ctx, b.ID(), b.Title()); err != nil {
			return err
		}
	}
	for _, b := range slices.Concat(own, o.Extra, []*builtin.Server{eventsServer}) {
		s.builtin[b.ID()] = b
	}
	return nil
}

// dashboardSource implements dashboard.Source.
type dashboardSource struct {
	AdminAPI
	calls CallSource
}

// Calls implements dashboard.Source.
func (d dashboardSource) Calls(ctx context.Context, p *junctor.Principal, since time.Time, match func(*junctor.Call) bool) ([]junctor.Call, bool, error) {
	return d.calls.NewestCalls(ctx, p, since, match)
}

// storedCredentials implements ocr.Credentials with the vault.
type storedCredentials struct{ vault *seal.Vault }

// Credential implements ocr.Credentials.
func (c storedCredentials) Credential(ctx context.Context, tenant junctor.TenantID, server, name string) (string, bool, error) {
	secret, ok, err := c.vault.Get(ctx, tenant, server, name)
	return secret.Reveal(), ok, err
}
