package servers

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/store"
	"github.com/junctor-mcp/junctor/internal/telemetry"
	"github.com/junctor-mcp/junctor/internal/upstream"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

const probeTime = 90 * time.Second // starting a process may take a minute, for example to download packages

// recordRefusedInput records that a server requested input that is not passed
// on to users.
func (s *Registry) recordRefusedInput(row *junctor.Server, why string) {
	call := junctor.Call{
		ID: s.o.NewID(), Tenant: row.Tenant, Kind: junctor.KindServer, EntryPoint: junctor.EntryAdmin, Server: row.ID, Name: "elicitation", Status: junctor.StatusDenied, Code: junctor.CodeDenied, Reason: why, Start: time.Now(),
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := s.o.Journal.Append(ctx, &call); err != nil {
		s.o.Log.Error("cannot record a refusal in the journal", telemetry.ErrorAttr(err))
	}
}

// AddServer probes a server, and stores and attaches it if the probe succeeds.
func (s *Registry) AddServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Server, error) {
	if in.Server.Mode == junctor.ModeGenerated {
		return s.addGenerated(ctx, p, in)
	}
	row := in.Server
	row.Mode = junctor.ModeBYO
	admitted, err := s.Judge.Server(ctx, p, row, nil)
	if err == nil {
		err = upstreamauth.CheckCommand(row.Command, in.Credentials)
	}
	if err != nil {
		return junctor.Server{}, err
	}
	if err := s.checkIDFree(ctx, p, row.ID); err != nil {
		return junctor.Server{}, err
	}
	up, err := s.probeRow(ctx, admitted, in.Credentials)
	if err != nil {
		return junctor.Server{}, err
	}
	if !in.AllowUnknownTools {
		if err := checkOverridesAt(ctx, &row, nil, up); err != nil {
			up.Close()
			return junctor.Server{}, err
		}
	}
	defer s.lockServer(p.Tenant, row.ID)()
	stored, err := s.storeServer(ctx, p, admitted, in.Credentials, nil)
	if up != nil && (err != nil || stored.Row().State == junctor.StateInactive) {
		up.Close()
	}
	if err != nil || stored.Row().State == junctor.StateInactive {
		return stored.Row(), err
	}
	if err := s.attachUpstream(ctx, stored, up); err != nil {
		return stored.Row(), err
	}
	if up != nil {
		s.noteTest(serverKey{p.Tenant, row.ID}, &junctor.Probe{}) // it has just answered
	}
	return stored.Row(), nil
}

// storeServer seals the credentials of a row and stores it for p, replacing
// former unless that is nil. Either both are stored or neither.
func (s *Registry) storeServer(ctx context.Context, p *junctor.Principal, admitted admission.Server, set upstreamauth.LiteralSet, former *junctor.Server) (admission.Server, error) {
	row := admitted.Row()
	name, err := s.sealCredentials(ctx, &row, set)
	if err != nil {
		return admission.Server{}, err
	}
	rows := s.o.Store.For(row.Tenant).By(p.ID())
	var stored admission.Server
	if former == nil {
		stored, err = rows.AddServer(ctx, admitted.Sealed(name))
	} else {
		stored, err = rows.UpdateServer(ctx, admitted.Sealed(name))
	}
	if err != nil {
		s.deleteSealed(ctx, &row, name)
		return admission.Server{}, err
	}
	if former != nil {
		s.deleteSealed(ctx, former, former.Credential)
		s.forgetTest(serverKey{row.Tenant, row.ID}) // it was a test of the former connection
	}
	return stored, nil
}

// ProbeServer probes a server as described, without storing anything.
func (s *Registry) ProbeServer(ctx context.Context, p *junctor.Principal, in admin.ServerInput) (junctor.Probe, error) {
	row := in.Server
	row.Mode = junctor.ModeBYO
	if row.ID == "" {
		row.ID = "probe"
	}
	admitted, err := s.Judge.Preview(ctx, p, row)
	if err == nil {
		err = upstreamauth.CheckCommand(row.Command, in.Credentials)
	}
	if err != nil {
		return junctor.Probe{}, err
	}
	up, err := s.newRoute(ctx, admitted, upstreamauth.StaticLiterals(in.Credentials), nil, "")
	if err != nil {
		return junctor.Probe{}, err
	}
	defer up.Close()
	report, _ := s.probeRoute(ctx, up, up.Connect)
	return report, nil
}

// recordRefusal records that a caller tried to define a server that they may
// not define.
func (s *Registry) recordRefusal(ctx context.Context, p *junctor.Principal, id string, refusal error) {
	call := junctor.Call{
		ID: s.o.NewID(), Tenant: p.Tenant, Kind: junctor.KindServer, EntryPoint: junctor.EntryAdmin, Server: id, Name: "add", Issuer: p.Issuer, Subject: p.Subject, User: p.User, Agent: p.Agent,
		Status: junctor.StatusDenied, Code: junctor.CodeDenied, Reason: junctor.AsError(refusal).Message, Start: time.Now(),
	}
	if err := s.o.Journal.Append(context.WithoutCancel(ctx), &call); err != nil {
		s.o.Log.Error("cannot record a refusal in the journal", telemetry.ErrorAttr(err))
	}
}

// reservedID returns the owner of a server that was removed less than
// --reserved-id-days ago, and until when its id stays reserved.
func (s *Registry) reservedID(ctx context.Context, tenant junctor.TenantID, id string) (owner string, until time.Time, err error) {
	owner, at, err := s.o.Store.For(tenant).RemovedServer(ctx, id)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return "", time.Time{}, nil
	}
	until = at.AddDate(0, 0, s.o.ReservedIDDays)
	if err != nil || !time.Now().Before(until) {
		return "", time.Time{}, err
	}
	return cmp.Or(owner, "nobody"), until, nil
}

// probeRow connects to the server of a row that is not stored yet, and returns the
// open connection; nil if a user must log in first. A server that cannot be
// reached must not be stored.
func (s *Registry) probeRow(ctx context.Context, admitted admission.Server, set upstreamauth.LiteralSet) (*authenticatedRoute, error) {
	row := admitted.Row()
	up, err := s.newRoute(ctx, admitted, upstreamauth.StaticLiterals(set), nil, "")
	if err != nil {
		return nil, err
	}
	if _, err := s.probeRoute(ctx, up, up.Connect); err != nil {
		up.Close()
		if refusal := upstream.RefusalOf(err); row.LogsIn() && refusal != nil && refusal.Status == http.StatusUnauthorized {
			return nil, nil // it is reachable and requires a login, which comes later
		}
		return nil, err
	}
	return s.detachProcess(ctx, admitted, upstreamauth.StaticLiterals(set), up)
}

// detachProcess returns the connection of a probe for later use. The process of
// a command is stopped; the first call starts a new one.
func (s *Registry) detachProcess(ctx context.Context, admitted admission.Server, literals upstreamauth.LiteralSource, up authenticatedRoute) (*authenticatedRoute, error) {
	if admitted.Row().Transport != junctor.TransportStdio {
		return &up, nil
	}
	defer up.Close()
	offer, err := up.Offer(ctx)
	if err != nil {
		return nil, err
	}
	next, err := s.newRoute(ctx, admitted, literals, offer, "")
	return &next, err
}

// sealCredentials stores the literals of a row's credentials under a new name,
// so that the row points to the former or the new set and never to a mixture.
func (s *Registry) sealCredentials(ctx context.Context, row *junctor.Server, set upstreamauth.LiteralSet) (string, error) {
	if len(set) == 0 {
		return "", nil
	}
	packed, err := set.Pack(row.Connection)
	if err != nil {
		return "", err
	}
	name := upstreamauth.SecretPrefix + s.o.NewID()
	return name, s.o.Vault.Put(ctx, row.Tenant, row.ID, name, packed)
}

// deleteSealed deletes sealed credentials that no row points to.
func (s *Registry) deleteSealed(ctx context.Context, row *junctor.Server, name string) {
	if name == "" {
		return
	}
	if err := s.o.Vault.Delete(context.WithoutCancel(ctx), row.Tenant, row.ID, name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		s.o.Log.Warn("cannot delete sealed credentials that are no longer used", slog.String("server", row.ID), telemetry.ErrorAttr(err))
	}
}

// deleteAllSealed deletes every sealed credential of a server.
func (s *Registry) deleteAllSealed(ctx context.Context, tenant junctor.TenantID, id string) error {
	list, err := s.o.Vault.List(ctx, tenant)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.Owner == id && strings.HasPrefix(info.Name, upstreamauth.SecretPrefix) {
			if err := s.o.Vault.Delete(ctx, tenant, id, info.Name); err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
				return err
			}
		}
	}
	return nil
}

// ChangeServer changes a server in place. If the connection changes, the server
// is probed first. If another writer changes the server in the meantime, the
// whole change is repeated with the newer row.
func (s *Registry) ChangeServer(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	return store.Retry(ctx, func() (junctor.Server, error) { return s.changeServerOnce(ctx, p, id, change) })
}

// changeServerOnce makes one attempt of ChangeServer. It fails with a
// precondition error if the row changed since it was read. The order matters:
// judge, probe, then store, so that nothing is run for a definition that the
// caller may not make, and nothing is stored that does not work.
func (s *Registry) changeServerOnce(ctx context.Context, p *junctor.Principal, id string, change func(*junctor.Server) (upstreamauth.LiteralSet, error)) (junctor.Server, error) {
	rows := s.o.Store.For(p.Tenant).By(p.ID())
	former, err := s.OwnedServer(ctx, p, id)
	if err != nil {
		return junctor.Server{}, err
	}
	if former.Mode == junctor.ModeGenerated {
		return s.changeGenerated(ctx, p, former, change)
	}
	if former.Mode == junctor.ModeBuiltin {
		return s.changeBuiltin(ctx, p, former, change)
	}
	if former.Mode != junctor.ModeBYO {
		return junctor.Server{}, junctor.Errorf(junctor.CodeInvalid, "the server %q is %s: only its state can be changed", id, former.Mode)
	}
	if err := s.o.CheckNotDeclared("server", id, former.Declared); err != nil {
		return junctor.Server{}, err
	}
	row := former
	row.Declared = ""
	entered, err := change(&row)
	if err != nil {
		return junctor.Server{}, err
	}
	admitted, err := s.judgeServer(ctx, p, row, &former, entered)
	if err != nil {
		return junctor.Server{}, err
	}
	moved := len(entered) > 0 || !sameConnection(&row.Connection, &former.Connection)
	if !moved {
		if err := checkOverrideNames(&row, &former, s.knownOwnNames(p, &former)); err != nil {
			return junctor.Server{}, err
		}
		defer s.lockServer(former.Tenant, id)()
		stored, err := rows.UpdateServer(ctx, admitted)
		if err != nil {
			return stored.Row(), err
		}
		return s.attachChanged(ctx, stored, &former, nil)
	}
	set, err := s.mergeCredentials(ctx, &row, entered, &former)
	if err != nil {
		return junctor.Server{}, err
	}
	up, err := s.probeRow(ctx, admitted.Sealed(""), set) // storeServer seals under a new name
	if err != nil {
		return junctor.Server{}, err
	}
	if err := checkOverridesAt(ctx, &row, &former, up); err != nil {
		up.Close()
		return junctor.Server{}, err
	}
	defer s.lockServer(former.Tenant, id)()
	stored, err := s.storeServer(ctx, p, admitted, set, &former)
	if err != nil {
		if up != nil {
			up.Close()
		}
		return stored.Row(), err
	}
	return s.attachChanged(ctx, stored, &former, up)
}

// judgeServer judges a row and the secrets that p entered for it. A sealed word of a
// command is masked in both rows, so that the judge cannot see that it differs: then the
// command counts as another one.
func (s *Registry) judgeServer(ctx context.Context, p *junctor.Principal, row junctor.Server, former *junctor.Server, entered upstreamauth.LiteralSet) (admission.Server, error) {
	if former != nil && slices.ContainsFunc(slices.Collect(maps.Keys(entered)), isPlaceOfWord) {
		stored, err := s.Auth.StoredLiterals(*former)(ctx)
		for place, secret := range entered {
			if isPlaceOfWord(place) && (err != nil || !stored[place].Equal(secret.Reveal())) {
				other := *former
				other.Command = nil
				former = &other
			}
		}
	}
	return s.Judge.Server(ctx, p, row, former)
}

// isPlaceOfWord reports whether a place of a credential is a word of a command.
func isPlaceOfWord(place string) bool { return strings.HasPrefix(place, junctor.PlaceCommand) }

// attachChanged attaches a server whose row has just replaced former.
func (s *Registry) attachChanged(ctx context.Context, stored admission.Server, former *junctor.Server, up *authenticatedRoute) (junctor.Server, error) {
	row := stored.Row()
	s.moveRenamedTags(ctx, former, &row)
	if row.State == junctor.StateInactive {
		if up != nil {
			up.Close()
		}
		return row, nil
	}
	if err := s.attachUpstream(ctx, stored, up); err != nil {
		return row, err
	}
	if up != nil {
		s.noteTest(serverKey{row.Tenant, row.ID}, &junctor.Probe{}) // it has just answered
	}
	return row, nil
}

// mergeCredentials returns the credentials of a row that replaces another:
// those that were entered, and those that Masked keeps.
func (s *Registry) mergeCredentials(ctx context.Context, row *junctor.Server, entered upstreamauth.LiteralSet, former *junctor.Server) (upstreamauth.LiteralSet, error) {
	set, err := s.Auth.StoredLiterals(*former)(ctx)
	if err != nil {
		s.o.Log.Warn("cannot open the stored credentials of a server: enter them again", slog.String("server", row.ID), telemetry.ErrorAttr(err))
		set = upstreamauth.LiteralSet{}
	}
	return upstreamauth.KeepLiterals(row, entered, former, set)
}

// sameConnection reports whether two connections lead to the same place in the
// same way, as Field.Reconnects says of each field. Members that only affect lists
// or time-outs do not count.
func sameConnection(a, b *junctor.Connection) bool {
	return !slices.ContainsFunc(a.DifferentFields(b), junctor.Field.Reconnects)
}
