package admission_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admission"
)

func local() *junctor.Principal {
	return &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerLocal, Scopes: []junctor.Scope{junctor.ScopeAdmin}}
}

func user(tenant junctor.TenantID, id string, scopes ...junctor.Scope) *junctor.Principal {
	return &junctor.Principal{Tenant: tenant, Issuer: junctor.IssuerUser, Subject: id, User: id, Scopes: scopes}
}

func operator() *junctor.Principal {
	return user(junctor.DefaultTenant, "root", junctor.ScopeAdmin)
}
func admin() *junctor.Principal { return user("acme", "boss", junctor.ScopeAdmin) }
func developer() *junctor.Principal {
	return user(junctor.DefaultTenant, "dev", junctor.ScopeServersWrite)
}

func judge(allow bool) *admission.Judge {
	return admission.New(admission.Options{AllowCommands: allow, CheckReference: func(ref string) error {
		if ref == "env:JUNCTOR_SEAL_KEY" {
			return junctor.Errorf(junctor.CodeDenied, "own")
		}
		return nil
	}})
}

func web(url, secret string) junctor.Server {
	return junctor.Server{ID: "notes", Mode: junctor.ModeBYO, Connection: junctor.Connection{
		Transport: junctor.TransportHTTP, URL: url, Auth: &junctor.Auth{Type: junctor.AuthBearer, Secret: secret},
	}}
}

func command(argv ...string) junctor.Server {
	return junctor.Server{ID: "notes", Mode: junctor.ModeBYO, Connection: junctor.Connection{Transport: junctor.TransportStdio, Command: argv}}
}

func document(url string) junctor.Server {
	return junctor.Server{ID: "notes", Mode: junctor.ModeGenerated, API: &junctor.API{APISettings: junctor.APISettings{DocumentURL: url}}}
}

func TestWhoCanDefineWhat(t *testing.T) {
	t.Parallel()
	const ok = junctor.Code("")
	denied, invalid := junctor.CodeDenied, junctor.CodeInvalid
	for _, tt := range []struct {
		what string
		row  junctor.Server
		// as the local operator, an admin of the default tenant without and with
		// --allow-commands, an admin of another tenant, a developer
		want [5]junctor.Code
	}{
		{"an address", web("https://example.com/mcp", junctor.Masked), [5]junctor.Code{ok, ok, ok, ok, ok}},
		{"env:", web("https://example.com/mcp", "env:TOKEN"), [5]junctor.Code{ok, ok, ok, denied, denied}},
		{"file:", web("https://example.com/mcp", "file:/etc/token"), [5]junctor.Code{ok, ok, ok, denied, denied}},
		{"cmd:", web("https://example.com/mcp", "cmd:cat x"), [5]junctor.Code{ok, denied, ok, denied, denied}},
		{"what the instance keeps for itself", web("https://example.com/mcp", "env:JUNCTOR_SEAL_KEY"), [5]junctor.Code{denied, denied, denied, denied, denied}},
		{"env: as a query", web("https://example.com/mcp?env:TOKEN", junctor.Masked), [5]junctor.Code{ok, ok, ok, denied, denied}},
		{"a command", command("sh", "-c", "true"), [5]junctor.Code{ok, denied, ok, denied, denied}},
		{"a document", document("https://example.com/openapi.yaml"), [5]junctor.Code{ok, ok, ok, ok, ok}},
		{"a file", document("file:///etc/passwd"), [5]junctor.Code{ok, denied, denied, denied, denied}},
		{"a file in capitals", document("FILE:///etc/passwd"), [5]junctor.Code{ok, denied, denied, denied, denied}},
		{"a file of another host", document("file://example.com/etc/passwd"), [5]junctor.Code{invalid, invalid, invalid, invalid, invalid}},
		{"a file without a root", document("file:etc/passwd"), [5]junctor.Code{invalid, invalid, invalid, invalid, invalid}},
		{"another scheme", document("gopher://example.com/"), [5]junctor.Code{invalid, invalid, invalid, invalid, invalid}},
	} {
		for i, as := range []struct {
			p     *junctor.Principal
			allow bool
		}{{local(), false}, {operator(), false}, {operator(), true}, {admin(), true}, {developer(), true}} {
			for name, judge := range map[string]func(context.Context, *junctor.Principal, junctor.Server) (admission.Server, error){
				"add": func(ctx context.Context, p *junctor.Principal, row junctor.Server) (admission.Server, error) {
					if row.Mode == junctor.ModeGenerated {
						return judge(as.allow).Unread(ctx, p, row, nil)
					}
					return judge(as.allow).Server(ctx, p, row, nil)
				},
				"preview": judge(as.allow).Preview,
			} {
				got, err := judge(t.Context(), as.p, tt.row)
				if junctor.CodeOf(err) != tt.want[i] || got.Valid() != (err == nil) {
					t.Errorf("%s as %s/%s, %s: %v, want %q", tt.what, as.p.Tenant, as.p.ID(), name, err, tt.want[i])
				}
			}
		}
	}
}

// A reference stays with the origin that it was entered for, wherever in the
// connection it stands.
func TestReferenceStaysWithItsOrigin(t *testing.T) {
	t.Parallel()
	former := web("https://example.com/mcp", "env:TOKEN")
	former.Owner = developer().ID()
	for what, tt := range map[string]struct {
		now        func(*junctor.Server)
		dev, admin junctor.Code
	}{
		"as it is":       {func(*junctor.Server) {}, "", ""},
		"another path":   {func(s *junctor.Server) { s.URL = "https://example.com/v2" }, "", ""},
		"another header": {func(s *junctor.Server) { s.Auth, s.Headers = nil, map[string]string{"X-Key": "env:TOKEN"} }, "", ""},
		"another host":   {func(s *junctor.Server) { s.URL = "https://evil.example/mcp" }, junctor.CodeDenied, ""},
		"another host, in a header": {func(s *junctor.Server) {
			s.URL, s.Auth, s.Headers = "https://evil.example/mcp", nil, map[string]string{"X-Key": "env:TOKEN"}
		}, junctor.CodeDenied, ""},
		"another host, as the query": {func(s *junctor.Server) { s.URL, s.Auth = "https://evil.example/mcp?env:TOKEN", nil }, junctor.CodeDenied, ""},
		"another token endpoint": {func(s *junctor.Server) {
			s.Auth = &junctor.Auth{Type: junctor.AuthOAuthClient, Secret: "env:TOKEN", ClientID: "me", TokenURL: "https://evil.example/token"}
		}, junctor.CodeDenied, ""},
		"another reference": {func(s *junctor.Server) { s.Auth = &junctor.Auth{Type: junctor.AuthBearer, Secret: "env:OTHER"} }, junctor.CodeDenied, ""},
	} {
		for _, as := range []struct {
			p    *junctor.Principal
			want junctor.Code
		}{{developer(), tt.dev}, {operator(), tt.admin}} {
			row := former
			auth := *former.Auth
			row.Auth = &auth
			tt.now(&row)
			if _, err := judge(false).Server(t.Context(), as.p, row, &former); junctor.CodeOf(err) != as.want {
				t.Errorf("%s as %s: %v, want %q", what, as.p.ID(), err, as.want)
			}
		}
	}
}

func TestWhoseItIs(t *testing.T) {
	t.Parallel()
	row := web("https://example.com/mcp", junctor.Masked)
	row.Tenant, row.Owner, row.Trusted = "other", "user:somebody", true
	got, err := judge(false).Server(t.Context(), developer(), row, nil)
	if r := got.Row(); err != nil || r.Tenant != junctor.DefaultTenant || r.Owner != "user:dev" || r.Trusted {
		t.Errorf("added: %+v, %v", r, err)
	}
	former := got.Row()
	former.Trusted = true
	for _, tt := range []struct {
		as      *junctor.Principal
		change  func(*junctor.Server)
		want    junctor.Code
		trusted bool
	}{
		{developer(), func(s *junctor.Server) { s.Title = "x" }, "", true},
		{developer(), func(s *junctor.Server) { s.URL = "http://127.0.0.1:1/" }, "", false},
		{developer(), func(s *junctor.Server) { s.Owner = "user:other" }, "", true},
		{local(), func(s *junctor.Server) { s.URL = "http://127.0.0.1:1/" }, "", true},
		{user(junctor.DefaultTenant, "other", junctor.ScopeServersWrite), func(s *junctor.Server) { s.Title = "x" }, junctor.CodeDenied, false},
		{&junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: "https://idp.example", Subject: "dev", Scopes: []junctor.Scope{junctor.ScopeServersWrite}}, func(s *junctor.Server) { s.Title = "x" }, junctor.CodeDenied, false},
	} {
		row := former
		tt.change(&row)
		got, err := judge(false).Server(t.Context(), tt.as, row, &former)
		if junctor.CodeOf(err) != tt.want || got.Row().Trusted != tt.trusted || err == nil && got.Row().Owner != "user:dev" {
			t.Errorf("%s: %+v, %v", tt.as.ID(), got.Row(), err)
		}
	}
}

// While only this machine reaches the instance, its admins may name loopback addresses, in
// each way that a server is judged.
func TestWhoMayNameThisMachine(t *testing.T) {
	t.Parallel()
	agent := operator()
	agent.Agent = "helper"
	for _, tt := range []struct {
		as              *junctor.Principal
		here, elsewhere bool // whether the instance is reached by this machine only
	}{
		{local(), true, true},
		{operator(), true, false},
		{agent, false, false},
		{admin(), false, false},
		{developer(), false, false},
	} {
		for _, here := range []bool{true, false} {
			want := tt.elsewhere
			if here {
				want = tt.here
			}
			j := admission.New(admission.Options{ThisMachineOnly: here, CheckReference: func(string) error { return nil }})
			former := web("https://example.com/mcp", junctor.Masked)
			former.Owner = tt.as.ID()
			row := web("http://127.0.0.1:9000/mcp", junctor.Masked)
			for name, of := range map[string]func() (admission.Server, error){
				"added":     func() (admission.Server, error) { return j.Server(t.Context(), tt.as, row, nil) },
				"changed":   func() (admission.Server, error) { return j.Server(t.Context(), tt.as, row, &former) },
				"previewed": func() (admission.Server, error) { return j.Preview(t.Context(), tt.as, row) },
			} {
				if got, err := of(); err != nil || got.Row().Trusted != want {
					t.Errorf("%s by %s, only this machine: %t: trusted %t, want %t; %v", name, tt.as.ID(), here, got.Row().Trusted, want, err)
				}
			}
		}
	}
}

func TestNamesOfRemovedServersAreReserved(t *testing.T) {
	t.Parallel()
	j := admission.New(admission.Options{
		CheckReference: func(string) error { return nil },
		Reserved: func(_ context.Context, _ junctor.TenantID, id string) (string, time.Time, error) {
			switch id {
			case "notes":
				return "user:dev", time.Now().Add(time.Hour), nil
			case "broken":
				return "", time.Time{}, errors.New("no database")
			}
			return "", time.Time{}, nil
		},
	})
	row := web("https://example.com/mcp", junctor.Masked)
	for _, tt := range []struct {
		as   *junctor.Principal
		want junctor.Code
	}{{developer(), ""}, {operator(), ""}, {user(junctor.DefaultTenant, "other", junctor.ScopeServersWrite), junctor.CodeDenied}} {
		if _, err := j.Server(t.Context(), tt.as, row, nil); junctor.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %q", tt.as.ID(), err, tt.want)
		}
		if _, err := j.Server(t.Context(), tt.as, row, &junctor.Server{ID: "notes", Owner: tt.as.ID()}); err != nil {
			t.Errorf("%s changes one that is there: %v", tt.as.ID(), err)
		}
	}
	row.ID = "broken"
	if _, err := j.Server(t.Context(), developer(), row, nil); err == nil {
		t.Error("a name that could not be looked up was given away")
	}
}

// What was judged cannot be changed behind the verdict.
func TestVerdictsHoldCopies(t *testing.T) {
	t.Parallel()
	row := web("https://example.com/mcp", junctor.Masked)
	row.Headers = map[string]string{"X-A": junctor.Masked}
	got, err := judge(false).Server(t.Context(), developer(), row, nil)
	if err != nil {
		t.Fatal(err)
	}
	row.Auth.Secret, row.Headers["X-A"] = "cmd:true", "cmd:true"
	out := got.Row()
	out.Auth.Secret, out.Headers["X-A"] = "cmd:true", "cmd:true"
	value := got.Connection().Value()
	value.Headers["X-A"] = "cmd:true"
	if refs := got.Connection().Value().References(); len(refs) > 0 {
		t.Errorf("references %v", refs)
	}
	if ref := got.Connection().Reference("cmd:true"); ref.String() != "" {
		t.Errorf("%q can be read", ref)
	}
	argv := command("a", "b")
	ran, err := judge(false).Server(t.Context(), local(), argv, nil)
	if err != nil {
		t.Fatal(err)
	}
	argv.Command[1] = "c"
	if c := ran.Connection().Command(); !slices.Equal(c.Args(), []string{"b"}) {
		t.Errorf("arguments %v", c.Args())
	}
}

func TestZeroValuesAdmitNothing(t *testing.T) {
	t.Parallel()
	var s admission.Server
	if s.Valid() || s.Document().Valid() || s.Connection().Command().Path() != "" || s.Connection().Reference("env:X").String() != "" {
		t.Error("a zero value admits something")
	}
	if _, err := (admission.Document{}).Sibling("file:///etc/passwd"); err == nil {
		t.Error("no document has a sibling")
	}
}

// What was judged before its document was read cannot be stored.
func TestUnreadIsNotStored(t *testing.T) {
	t.Parallel()
	row := document("https://example.com/openapi.yaml")
	row.Auth = &junctor.Auth{Type: junctor.AuthOAuthClient, Secret: junctor.Masked, ClientID: "me"} // where tokens come from, the document says
	unread, err := judge(false).Unread(t.Context(), developer(), row, nil)
	if err != nil || !unread.Valid() || unread.Storable() || !unread.Document().Valid() {
		t.Errorf("%+v, %v", unread, err)
	}
	if got, err := judge(false).Server(t.Context(), developer(), row, nil); err == nil || got.Valid() {
		t.Errorf("without an address: %+v, %v", got, err)
	}
	row.Transport, row.URL, row.Auth.TokenURL = junctor.TransportHTTP, "https://example.com", "https://example.com/token"
	if got, err := judge(false).Server(t.Context(), developer(), row, nil); err != nil || !got.Storable() {
		t.Errorf("whole: %+v, %v", got, err)
	}
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	at := func(address string) admission.Document {
		got, err := judge(false).Unread(t.Context(), local(), document(address), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Document()
	}
	for _, tt := range []struct {
		of, file string
		ok       bool
	}{
		{"https://example.com/a/openapi.yaml", "https://example.com/b/pets.yaml", true},
		{"https://example.com/a/openapi.yaml", "https://example.org/a/pets.yaml", false},
		{"https://example.com/a/openapi.yaml", "http://example.com/a/pets.yaml", false},
		{"https://example.com/a/openapi.yaml", "file:///etc/passwd", false},
		{"https://example.com/a/openapi.yaml", "FILE:///etc/passwd", false},
		{"file:///srv/api/openapi.yaml", "file:///srv/api/sub/pets.yaml", true},
		{"file:///srv/api/openapi.yaml", "FILE:///srv/api/pets.yaml", true},
		{"file:///srv/api/openapi.yaml", "file:///srv/api/../secret", false},
		{"file:///srv/api/openapi.yaml", "file:///etc/passwd", false},
		{"file:///srv/api/openapi.yaml", "https://example.com/pets.yaml", false},
	} {
		if _, err := at(tt.of).Sibling(tt.file); (err == nil) != tt.ok {
			t.Errorf("%s beside %s: %v", tt.file, tt.of, err)
		}
	}
}

func TestLiteralConnections(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]junctor.Connection{
		"a command":   command("sh").Connection,
		"a reference": web("https://example.com", "env:TOKEN").Connection,
	} {
		if _, err := admission.LiteralConnection(c); junctor.CodeOf(err) != junctor.CodeDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := admission.LiteralConnection(web("https://example.com", junctor.Masked).Connection); err != nil {
		t.Error(err)
	}
	for what, row := range map[string]junctor.Server{
		"another mode": web("https://example.com", junctor.Masked),
		"a command":    {ID: "x", Mode: junctor.ModeDiscovered, Connection: command("sh").Connection},
		"trusted":      {ID: "x", Mode: junctor.ModeDiscovered, Trusted: true},
	} {
		if _, err := admission.Discovered(row); err == nil {
			t.Errorf("discovered: %s", what)
		}
	}
}

// Every refusal is put on record, and nothing else.
func TestRefusalsAreRecorded(t *testing.T) {
	t.Parallel()
	var refused []string
	j := admission.New(admission.Options{
		CheckReference: func(string) error { return nil },
		Refused: func(_ context.Context, p *junctor.Principal, id string, _ error) {
			refused = append(refused, p.ID()+" "+id)
		},
	})
	_, _ = j.Server(t.Context(), developer(), command("sh"), nil)
	_, _ = j.Preview(t.Context(), developer(), web("https://example.com", "cmd:true"))
	_, _ = j.Reference(t.Context(), developer(), "hook", "env:X")
	_, _ = j.Server(t.Context(), developer(), web("nonsense", junctor.Masked), nil)
	_, _ = j.Server(t.Context(), developer(), web("https://example.com", junctor.Masked), nil)
	if want := []string{"user:dev notes", "user:dev notes", "user:dev hook"}; !slices.Equal(refused, want) {
		t.Errorf("recorded %v, want %v", refused, want)
	}
}

// A client secret goes to an authorization server. Neither another place in the
// connection nor a document may send it anywhere else.
func TestClientSecretStaysWithItsAuthorizationServer(t *testing.T) {
	t.Parallel()
	client := func() junctor.Server {
		row := web("https://dev.example/mcp", "")
		row.Owner = developer().ID()
		row.Auth = &junctor.Auth{Type: junctor.AuthOAuthClient, Secret: "env:CORP", ClientID: "me", TokenURL: "https://login.example/token"}
		return row
	}
	login := func() junctor.Server {
		row := document("https://dev.example/openapi.yaml")
		row.Owner, row.Connection = developer().ID(), web("https://dev.example/v1", "").Connection
		row.Auth = &junctor.Auth{Type: junctor.AuthOAuth, Secret: "env:CORP", ClientID: "me"}
		row.API.LoginURL, row.API.TokenURL = "https://login.example/authorize", "https://login.example/token"
		return row
	}
	for what, tt := range map[string]struct {
		former junctor.Server
		change func(*junctor.Server)
		want   junctor.Code
	}{
		"client as it is":          {client(), func(*junctor.Server) {}, ""},
		"another scope":            {client(), func(s *junctor.Server) { s.Auth.Scope = "read" }, ""},
		"in a header as well":      {client(), func(s *junctor.Server) { s.Headers = map[string]string{"X-Leak": "env:CORP"} }, junctor.CodeDenied},
		"in the query as well":     {client(), func(s *junctor.Server) { s.URL += "?env:CORP" }, junctor.CodeDenied},
		"as a bearer token":        {client(), func(s *junctor.Server) { s.Auth = &junctor.Auth{Type: junctor.AuthBearer, Secret: "env:CORP"} }, junctor.CodeDenied},
		"bearer with a token_url":  {client(), func(s *junctor.Server) { s.Auth.Type, s.Auth.ClientID = junctor.AuthBearer, "" }, junctor.CodeInvalid},
		"another token endpoint":   {client(), func(s *junctor.Server) { s.Auth.TokenURL = "https://dev.example/token" }, junctor.CodeDenied},
		"a key that was to sign":   {client(), func(s *junctor.Server) { s.Auth.ClientAuth = junctor.ClientAuthKey }, junctor.CodeDenied},
		"as a subject":             {client(), func(s *junctor.Server) { s.Auth.Grant, s.Auth.Subject = junctor.GrantJWTBearer, "env:CORP" }, ""},
		"login as it is":           {login(), func(*junctor.Server) {}, ""},
		"another token of the API": {login(), func(s *junctor.Server) { s.API.TokenURL = "https://dev.example/token" }, junctor.CodeDenied},
		"another page of the API":  {login(), func(s *junctor.Server) { s.API.LoginURL = "https://dev.example/authorize" }, junctor.CodeDenied},
	} {
		row := tt.former
		auth := *row.Auth
		row.Auth = &auth
		if row.API != nil {
			api := *row.API
			row.API = &api
		}
		tt.change(&row)
		if _, err := judge(false).Server(t.Context(), developer(), row, &tt.former); junctor.CodeOf(err) != tt.want {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

// A document that is read again without anybody asking for it gives nobody more
// trust, another owner or another tenant.
func TestRereadChangesOnlyDocumentedMembers(t *testing.T) {
	t.Parallel()
	former := document("https://dev.example/openapi.yaml")
	former.Tenant, former.Owner, former.Connection = "acme", "user:dev", web("http://127.0.0.1:8500/", "").Connection
	row := former
	api := *former.API
	api.Title, api.Version, api.DocumentURL = "Pets", "2", "file:///etc/passwd"
	row.API, row.Tenant, row.Owner, row.Trusted = &api, junctor.DefaultTenant, "local:", true
	row.Command = []string{"sh"}
	got, err := judge(true).Reread(row, admission.Stored(former))
	if err != nil {
		t.Fatal(err)
	}
	out := got.Row()
	if out.Tenant != "acme" || out.Owner != "user:dev" || out.Trusted || out.Command != nil || out.API.DocumentURL != former.API.DocumentURL {
		t.Errorf("the row has become %+v, %+v", out, out.API)
	}
	if out.API.Title != "Pets" || out.API.Version != "2" || !got.Storable() {
		t.Errorf("what the document says is lost: %+v", out.API)
	}
	if _, err := judge(true).Reread(row, admission.Server{}); err == nil {
		t.Error("a row that nobody judged is read again")
	}
}

// Another document may lead to this machine only where the operator says so.
func TestTrustEndsWithTheDocument(t *testing.T) {
	t.Parallel()
	former := document("http://127.0.0.1:9000/openapi.yaml")
	former.Connection, former.Owner, former.Trusted = web("http://127.0.0.1:9000/", junctor.Masked).Connection, "local:", true
	for _, tt := range []struct {
		as      *junctor.Principal
		url     string
		trusted bool
	}{
		{operator(), "http://127.0.0.1:9000/openapi.yaml", true},
		{operator(), "http://127.0.0.1:6379/", false},
		{local(), "http://127.0.0.1:6379/", true},
	} {
		row := former
		api := *former.API
		api.DocumentURL = tt.url
		row.API = &api
		got, err := judge(false).Server(t.Context(), tt.as, row, &former)
		if err != nil || got.Row().Trusted != tt.trusted {
			t.Errorf("%s, %s: trusted %t, %v", tt.as.ID(), tt.url, got.Row().Trusted, err)
		}
	}
}

// A service changes what it added, and nothing of others.
func TestServicesOwnTheirServers(t *testing.T) {
	t.Parallel()
	service := &junctor.Principal{Tenant: junctor.DefaultTenant, Issuer: junctor.IssuerKey, Subject: "ci", Scopes: []junctor.Scope{junctor.ScopeServersWrite}}
	former := web("https://example.com/mcp", junctor.Masked)
	for owner, want := range map[string]junctor.Code{"key:ci": "", "key:other": junctor.CodeDenied, "user:dev": junctor.CodeDenied, "local:": junctor.CodeDenied} {
		former.Owner = owner
		if _, err := judge(false).Server(t.Context(), service, former, &former); junctor.CodeOf(err) != want {
			t.Errorf("of %s: %v, want %q", owner, err, want)
		}
	}
}
