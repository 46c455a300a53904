package upstreamauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
	"github.com/junctor-mcp/junctor/internal/egress"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// memoryVault stores secrets in memory and keeps them across Managers.
type memoryVault struct {
	mu  sync.Mutex
	all map[string]seal.Secret
}

func place(tenant junctor.TenantID, owner, name string) string {
	return string(tenant) + " " + owner + " " + name
}

func (v *memoryVault) Get(_ context.Context, tenant junctor.TenantID, owner, name string) (seal.Secret, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.all[place(tenant, owner, name)]
	return s, ok, nil
}

func (v *memoryVault) Put(_ context.Context, tenant junctor.TenantID, owner, name string, s seal.Secret) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all[place(tenant, owner, name)] = s
	return nil
}

func (v *memoryVault) Delete(_ context.Context, tenant junctor.TenantID, owner, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.all[place(tenant, owner, name)]; !ok {
		return junctor.Errorf(junctor.CodeNotFound, "there is none")
	}
	delete(v.all, place(tenant, owner, name))
	return nil
}

func (v *memoryVault) Info(_ context.Context, _ junctor.TenantID, owner, name string) (seal.SecretInfo, error) {
	return seal.SecretInfo{Owner: owner, Name: name}, nil
}

// oneServer knows one server, which everybody sees.
type oneServer struct {
	hosts // of the rest nothing is asked
	row   *junctor.Server
}

func (s oneServer) VisibleServer(context.Context, *junctor.Principal, string) (junctor.Server, error) {
	return *s.row, nil
}
func (oneServer) ResetCredentials(*junctor.Server, string) {}

type hosts = interface{ upstreamauth.ServerRegistry }

// everybody knows every user, and keeps no traces.
type everybody struct{}

func (everybody) User(context.Context, junctor.TenantID, string) (junctor.User, error) {
	return junctor.User{}, nil
}
func (everybody) AddTrace(context.Context, junctor.TenantID, junctor.Trace) error { return nil }
func (everybody) Traces(context.Context, junctor.TenantID, string, string, int) ([]junctor.Trace, error) {
	return nil, nil
}

// oneWay reaches everything with one client.
type oneWay struct{ client *http.Client }

func (w oneWay) ForServer(*junctor.Server) *http.Client                { return w.client }
func (w oneWay) ForPublicAddress() *http.Client                        { return w.client }
func (w oneWay) ForUser(*junctor.Server) (client, stream *http.Client) { return w.client, w.client }

// issuer is an authorization server that can move its token endpoint.
type issuer struct {
	*httptest.Server
	token atomic.Pointer[string]
	asked atomic.Int64 // how often for a token
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "token_endpoint": *i.token.Load(), "grant_types_supported": []string{"client_credentials"}})
		case "/token":
			i.asked.Add(1)
			_, _ = fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(i.Close)
	i.move(i)
	return i
}

// move has tokens be given by another issuer's endpoint.
func (i *issuer) move(to *issuer) {
	at := to.URL + "/token"
	i.token.Store(&at)
}

// testSetup is a Manager with one server.
type testSetup struct {
	t     *testing.T
	vault *memoryVault
	row   junctor.Server
	web   oneWay
}

func newTestSetup(t *testing.T, at *issuer) *testSetup {
	t.Helper()
	out, err := egress.New(egress.Options{Logger: slog.New(slog.DiscardHandler), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client := out.Client(egress.ClientOptions{})
	t.Cleanup(client.CloseIdleConnections)
	return &testSetup{t: t, vault: &memoryVault{all: map[string]seal.Secret{}}, web: oneWay{client}, row: junctor.Server{
		ID: "notes", Tenant: junctor.DefaultTenant, Mode: junctor.ModeBYO, CreatedAt: time.Now(), Credential: "conn-1",
		Connection: junctor.Connection{Transport: junctor.TransportHTTP, URL: at.URL + "/mcp", Credentials: junctor.CredentialsPerUser, Auth: operatorsAuth(at)},
	}}
}

func operatorsAuth(at *issuer) *junctor.Auth {
	return &junctor.Auth{Type: junctor.AuthOAuthClient, ClientID: "shared-id", Secret: "the-secret", Issuer: at.URL}
}

// newManager returns a new Manager, as a restart or another replica does.
func (o *testSetup) newManager() *upstreamauth.Manager {
	row := o.row
	return upstreamauth.NewManager(upstreamauth.Options{
		Servers: oneServer{row: &row}, Vault: o.vault, Users: everybody{}, Traces: everybody{}, HTTPClients: o.web, NewID: func() string { return "id" }, Reader: upstreamauth.ReferenceReader{Lookup: func(name string) (string, bool) { return "secret-of-" + name, true }}, URL: func() string { return "https://junctor.example" }, Log: slog.New(slog.DiscardHandler),
	})
}

// call gets the credentials of a call of a user, or with "" the server's own.
func (o *testSetup) call(user string) error {
	conn, set := upstreamauth.SplitLiterals(o.row.Connection)
	row := o.row
	row.Connection = conn
	s := o.newManager().NewServerAuth(admission.Stored(row), upstreamauth.StaticLiterals(set))
	if user == "" {
		_, err := s.Header(o.t.Context(), nil)
		return err
	}
	_, err := s.Header(o.t.Context(), o.person(user))
	return err
}

func (o *testSetup) person(user string) *junctor.Principal {
	return &junctor.Principal{Tenant: o.row.Tenant, Issuer: junctor.IssuerUser, Subject: user, User: user}
}

// enter stores an OAuth client of a user's own.
func (o *testSetup) enter(user, client string, at *issuer) {
	o.t.Helper()
	auth := &junctor.Auth{Type: junctor.AuthOAuthClient, ClientID: client, Secret: "secret-of-" + user, Issuer: at.URL}
	if _, err := o.newManager().PutCredential(o.t.Context(), o.person(user), o.row.ID, auth, nil); err != nil {
		o.t.Fatal(err)
	}
}

// wantRefused has a call be refused for its pin, and nothing be sent to a place.
func (o *testSetup) wantRefused(what, user string, evil *issuer) {
	o.t.Helper()
	before := evil.asked.Load()
	if err := o.call(user); junctor.CodeOf(err) != junctor.CodeDenied || !strings.Contains(err.Error(), "until now") || evil.asked.Load() != before {
		o.t.Errorf("%s: %v, %d requests", what, err, evil.asked.Load()-before)
	}
}

func (o *testSetup) wantCalled(what, user string, at *issuer) {
	o.t.Helper()
	before := at.asked.Load()
	if err := o.call(user); err != nil || at.asked.Load() != before+1 {
		o.t.Errorf("%s: %v, %d requests", what, err, at.asked.Load()-before)
	}
}

// TestPinOutlivesItsManager binds the operator's secret to where it was first sent, over
// restarts, until the secret is entered again.
func TestPinOutlivesItsManager(t *testing.T) {
	t.Parallel()
	idp, evil := newIssuer(t), newIssuer(t)
	o := newTestSetup(t, idp)
	o.wantCalled("at first", "", idp)
	idp.move(evil)
	o.wantRefused("moved", "", evil)
	o.row.Credential = "conn-2" // entered again
	o.wantCalled("entered again", "", evil)
	idp.move(idp)
	o.wantRefused("moved back", "", idp)
}

// TestPinOfAReference is the same for a secret that is a reference, which has no
// sealed credentials: another reference is another secret.
func TestPinOfAReference(t *testing.T) {
	t.Parallel()
	idp, evil := newIssuer(t), newIssuer(t)
	o := newTestSetup(t, idp)
	o.row.Credential, o.row.Auth.Secret = "", "env:PIN_A"
	o.wantCalled("at first", "", idp)
	idp.move(evil)
	o.wantRefused("moved", "", evil)
	o.row.Auth.Secret = "env:PIN_B"
	o.wantCalled("another reference", "", evil)
}

// TestServerThatIsTriedIsNotPinned tries a server before it is added: where its
// secret went then does not bind the server of that name.
func TestServerThatIsTriedIsNotPinned(t *testing.T) {
	t.Parallel()
	idp, other := newIssuer(t), newIssuer(t)
	o := newTestSetup(t, idp)
	o.row.CreatedAt = time.Time{}
	o.wantCalled("tried", "", idp)
	o.row.CreatedAt = time.Now()
	idp.move(other)
	o.wantCalled("added", "", other)
}

// TestPinsOfUsersAreTheirOwn has users enter OAuth clients with the id of the
// operator's, for another issuer, and with many other ids: the operator's client stays
// where it was, and so does each user's.
func TestPinsOfUsersAreTheirOwn(t *testing.T) {
	t.Parallel()
	idp, other, evil := newIssuer(t), newIssuer(t), newIssuer(t)
	o := newTestSetup(t, idp)
	o.wantCalled("the operator's", "", idp)

	o.enter("zoe", "shared-id", other)
	o.wantCalled("a user's with the same id", "zoe", other)
	for i := range 20 {
		user := fmt.Sprintf("user-%d", i)
		o.enter(user, "id-"+user, other)
		o.wantCalled("another user's", user, other)
	}
	idp.move(evil)
	o.wantRefused("the operator's, moved", "", evil)

	other.move(evil)
	o.wantRefused("a user's, moved", "zoe", evil)
	o.wantRefused("another user's, moved", "user-0", evil)
	o.enter("zoe", "shared-id", other)
	o.wantCalled("a user's, entered again", "zoe", evil)
	o.wantRefused("another user's, not entered again", "user-0", evil)
	if err := o.newManager().RemoveCredential(t.Context(), o.person("zoe"), o.row.ID); err != nil {
		t.Fatal(err)
	}
	for at := range o.vault.all {
		if strings.Contains(at, junctor.UserOwner("zoe")) {
			t.Errorf("of a user who removed their credentials there is still %s", at)
		}
	}
}

// TestManyClientsEvictNoPin has the operator use many clients in turn: each stays
// where it was.
func TestManyClientsEvictNoPin(t *testing.T) {
	t.Parallel()
	idp, evil := newIssuer(t), newIssuer(t)
	o := newTestSetup(t, idp)
	o.wantCalled("the first", "", idp)
	for i := range 20 {
		o.row.Auth.ClientID = fmt.Sprintf("id-%d", i)
		o.wantCalled("another", "", idp)
	}
	o.row.Auth.ClientID = "shared-id"
	idp.move(evil)
	o.wantRefused("the first again", "", evil)
}
