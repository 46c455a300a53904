// Command client is Junctor's side towards servers as a client of its own, for
// the conformance suite: internal/upstream for the calls and internal/oauth for
// the logins, over the clients of internal/egress. The suite starts it with the
// address of a server; the scenario and what it gives come in the environment.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/egress"
	oauthclient "github.com/junctor-mcp/junctor/internal/oauth/client"
	"github.com/junctor-mcp/junctor/internal/seal"
	"github.com/junctor-mcp/junctor/internal/upstream"
)

const (
	redirect = "http://localhost:3000/callback"
	document = "https://conformance-test.local/client-metadata.json"
)

// given is what a scenario gives its client.
type given struct {
	ClientID   string `json:"client_id"`
	Secret     string `json:"client_secret"`
	Issuer     string `json:"issuer"`
	PrivateKey string `json:"private_key_pem"`

	IDToken          string `json:"idp_id_token"`
	IDPClient        string `json:"idp_client_id"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`

	Workload string `json:"valid_jwt"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}

// memory keeps the login.
type memory struct {
	mu    sync.Mutex
	grant *oauthclient.Grant
}

func (m *memory) Load(context.Context) (*oauthclient.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grant, nil
}

func (m *memory) Save(_ context.Context, g *oauthclient.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = g
	return nil
}

// player plays one scenario.
type player struct {
	given  given
	client *oauthclient.Client
	server oauthclient.Server
	keep   memory
	known  *oauthclient.RegisteredClient
	login  *oauthclient.Login
	logins int
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return errors.New("usage: client SERVER-URL")
	}
	address, err := url.Parse(os.Args[1])
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	out, err := egress.New(egress.Options{Logger: log, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	if err != nil {
		return err
	}
	p := &player{}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &p.given); err != nil {
			return err
		}
	}
	p.client = &oauthclient.Client{HTTP: out.Client(egress.ClientOptions{}), Name: "Junctor", MetadataURL: document, Now: time.Now}
	p.server = oauthclient.Server{URL: address.String(), ClientID: p.given.ClientID, Secret: seal.NewSecret(p.given.Secret), Issuer: p.given.Issuer}
	p.login = oauthclient.NewLogin(p.client, &p.keep, func(context.Context) (oauthclient.Server, error) { return p.server, nil }, show)
	up, err := upstream.New(upstream.Options{
		ID: "suite", Transport: upstream.TransportHTTP, URL: address, Client: out.Client(egress.ClientOptions{}), StreamClient: out.Client(egress.ClientOptions{Timeout: -1, MaxBytes: -1}),
		LoginOnDemand: true, Logger: log, Header: func(ctx context.Context, _ *junctor.Principal) (http.Header, error) {
			token, _, err := p.login.Token(ctx)
			if token == "" {
				return nil, err
			}
			return http.Header{"Authorization": {"Bearer " + token}}, err
		},
	})
	if err != nil {
		return err
	}
	defer up.Close()
	if err := p.through(ctx, func() error { _, err := up.Connect(ctx); return err }); err != nil {
		return err
	}
	return p.through(ctx, func() error {
		_, err := up.Do(ctx, &catalog.Request{Kind: junctor.KindTool, Name: "test-tool", Params: []byte(`{"name":"test-tool","arguments":{}}`), Arguments: []byte(`{}`)}, catalog.Discard{})
		return err
	})
}

// through makes a call, logging in where the server wants it, a few times.
func (p *player) through(ctx context.Context, call func() error) error {
	for {
		wants, err := p.login.CallWithRetry(ctx, challenge, call)
		if wants == nil {
			return err
		}
		if p.logins++; p.logins > 3 {
			return fmt.Errorf("the server wants one login after the other: %w", err)
		}
		if err := p.get(ctx, *wants); err != nil {
			return err
		}
	}
}

func challenge(err error) (oauthclient.Challenge, bool) {
	r := upstream.RefusalOf(err)
	if r == nil {
		return oauthclient.Challenge{}, false
	}
	return oauthclient.ParseChallenge(r.Status, []string{r.Challenge}), true
}

// get gets a token as the scenario wants it: as a server's auth says it.
func (p *player) get(ctx context.Context, wants oauthclient.Challenge) error {
	auth := junctor.Auth{Type: junctor.AuthOAuthClient, ClientID: p.given.ClientID, Issuer: p.given.Issuer}
	with := oauthclient.TokenProof{Secret: seal.NewSecret(p.given.Secret)}
	switch os.Getenv("MCP_CONFORMANCE_SCENARIO") {
	case "auth/client-credentials-basic":
	case "auth/client-credentials-jwt":
		auth.ClientAuth, with.Secret = junctor.ClientAuthKey, seal.NewSecret(p.given.PrivateKey)
	case "auth/wif-jwt-bearer":
		auth.Grant, with.Subject = junctor.GrantJWTBearer, seal.NewSecret(p.given.Workload)
	case "auth/enterprise-managed-authorization":
		auth.Grant, with.Subject = junctor.GrantEnterprise, seal.NewSecret(p.given.IDToken)
		auth.IDPTokenURL, auth.IDPClientID = p.given.IDPTokenEndpoint, p.given.IDPClient
	default:
		return p.person(ctx, wants)
	}
	token, life, err := p.client.NewTokenRequester(p.server.URL, show, nil)(ctx, auth, with)
	now := time.Now()
	return p.keepIt(ctx, &oauthclient.Grant{Origin: oauthclient.OriginOf(p.server.URL), Token: oauthclient.Token{Access: token.Reveal(), ObtainedAt: now, ExpiresAt: now.Add(life)}, Since: now}, err)
}

func (p *player) keepIt(ctx context.Context, g *oauthclient.Grant, err error) error {
	if err != nil {
		return err
	}
	p.known = &g.Client
	defer p.login.Invalidate()
	return p.keep.Save(ctx, g)
}

// person logs in like one who agrees to everything at once.
func (p *player) person(ctx context.Context, wants oauthclient.Challenge) error {
	former, err := p.keep.Load(ctx)
	if err != nil {
		return err
	}
	pending, address, trace, err := p.client.BeginLogin(ctx, oauthclient.LoginRequest{Server: p.server, Redirect: redirect, Challenge: wants, KnownClient: p.known, FormerGrant: former})
	show(ctx, trace)
	if err != nil {
		return err
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := browser.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		return err
	}
	grant, trace, err := p.client.FinishLogin(ctx, pending, back.Query())
	show(ctx, trace)
	return p.keepIt(ctx, grant, err)
}

// show prints a trace, for who reads the suite's log.
func show(_ context.Context, t *junctor.Trace) {
	text, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		fmt.Fprintln(os.Stderr, string(text))
	}
}
