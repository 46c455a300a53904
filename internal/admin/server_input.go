package admin

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/credential"
)

// ServerInput is a server as somebody describes it: a row without times and
// state, and the credentials that stood in it.
type ServerInput struct {
	Server      junctor.Server
	Credentials credential.Set
	Document    string // of an auto-generated server, where its text was given
	AllowEmpty  bool   // of an auto-generated server: its document may yield no tool
}

// DeclaredInput is a server as a file declares it.
func DeclaredInput(s config.Server) ServerInput {
	in := ServerInput{Server: junctor.Server{ID: s.ID, Mode: junctor.ModeBYO, Title: s.Title, Private: s.Private, State: junctor.StateActive}}
	if s.Disabled {
		in.Server.State = junctor.StateInactive
	}
	if s.API != nil {
		api := *s.API
		if s.DocumentPath != "" {
			api.DocumentURL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.DocumentPath)}).String()
		}
		in.Server.Mode, in.Server.API, in.Document, in.AllowEmpty = junctor.ModeGenerated, &api, s.Document, s.AllowEmpty
	}
	in.Server.Connection, in.Credentials = credential.Split(s.Connection())
	return in
}

// ServerBody is what describes a bring-your-own server. All that may be a
// credential is write-only.
type ServerBody struct {
	Transport   *junctor.Transport          `json:"transport,omitempty" doc:"Absent: http for a url, stdio for a command."`
	URL         *string                     `json:"url,omitempty" maxLength:"4096" doc:"With http and sse. Its query is kept like a credential."`
	Command     []string                    `json:"command,omitempty" maxItems:"256" doc:"With stdio: the program and its arguments; no shell reads them. From the operator, or from an admin under --allow-commands. Words that look like secrets are shown as ***, which sent back keeps the stored ones."`
	Env         map[string]string           `json:"env,omitempty" doc:"With stdio. Values are kept like credentials; *** keeps the stored one."`
	Cwd         *string                     `json:"cwd,omitempty" maxLength:"4096" doc:"With stdio: the working directory."`
	Auth        *AuthBody                   `json:"auth,omitempty"`
	Headers     map[string]string           `json:"headers,omitempty" doc:"Sent with every request. Values are kept like credentials; *** keeps the stored one."`
	Credentials *junctor.Credentials        `json:"credentials,omitempty" doc:"Whose credentials calls are made with: shared is the server's own, per-user is each user's, who enters them at credentials/me. Lists are read with the server's own."`
	Isolation   *junctor.Isolation          `json:"isolation,omitempty" doc:"Who shares a connection to the server: shared is everybody, session is one for each client, user is one for each key."`
	MaxSessions *int                        `json:"max_sessions,omitempty" minimum:"0" maximum:"10000" doc:"Connections, and so processes of a command, at a time; 0 is the usual number."`
	TimeoutMS   *int                        `json:"timeout_ms,omitempty" minimum:"0" maximum:"86400000" doc:"How long a call may take; 0 is the instance's own limit."`
	Views       *junctor.Views              `json:"views,omitempty" enum:"on,off" doc:"Whether tools without an App of their own are given one, which draws what they answer; on where it is absent."`
	Home        *junctor.Home               `json:"home,omitempty" enum:"each,one" doc:"With stdio, of several replicas: whether the command runs on each of them, or on one, which the others send calls on to; each where it is absent."`
	Believe     *bool                       `json:"believe_annotations,omitempty" doc:"Whether the annotations of its tools count: tools that say readOnlyHint are then used without approval, and tools that say readOnlyHint or idempotentHint may be called again after a failure. Set by the operator or an admin; off where it is absent."`
	Overrides   map[string]junctor.Override `json:"overrides,omitempty" doc:"By the tool's own name: hide it, show it under another name or description, or say that it changes nothing (read_only: set by the operator or an admin)."`
	Document    *string                     `json:"document,omitempty" doc:"Of an auto-generated server: the text of the API's documentation, OpenAPI, GraphQL or another format."`
	DocumentURL *string                     `json:"document_url,omitempty" maxLength:"4096" doc:"Of an auto-generated server: where its documentation is, in place of document."`
	BaseURL     *string                     `json:"base_url,omitempty" maxLength:"4096" doc:"Of an auto-generated server: where the API is called; absent: where its documentation says."`
	Format      *string                     `json:"format,omitempty" doc:"Of an auto-generated server: openapi, graphql, postman, har, curl, api-blueprint, markdown or html; absent: whatever the document turns out to be."`
	Exposure    *junctor.Exposure           `json:"exposure,omitempty" enum:"auto,all,search" doc:"Of an auto-generated server: all lists every tool; search lists three, which find, describe and call the others; auto, which it is where it is absent, is search above 128 tools or 256 KB."`
	Include     []string                    `json:"include,omitempty" maxItems:"256" doc:"Of an auto-generated server: which operations become tools: GET, /pets/**, GET /pets/*, tag:pets, op:list*, deprecated, ~expression; with ! before it, which do not. The first that fits decides; without any it is all but deprecated ones."`
	Mutations   *string                     `json:"mutations,omitempty" enum:"none,explicit,all" doc:"Of a GraphQL API: which mutations become tools."`
	Rate        *float64                    `json:"rate,omitempty" minimum:"0" doc:"Of an auto-generated server: requests a second that the API is sent at most; 0 is no bound."`
	PollMinutes *int                        `json:"poll_minutes,omitempty" minimum:"0" maximum:"44640" doc:"Of an auto-generated server: how often to look whether the document at document_url has changed; 0 is never."`
	AllowEmpty  bool                        `json:"allow_empty,omitempty" doc:"Of an auto-generated server: add it although its document yields no tool."`
	Title       *string                     `json:"title,omitempty" maxLength:"200"`
	Private     *bool                       `json:"private,omitempty" doc:"Only who added it sees it."`
}

// AuthBody is how Junctor authenticates itself to a server. The secret stands
// under the name that its type has for it, or as secret. It may be a reference:
// env:NAME, file:/path, cmd:program.
type AuthBody struct {
	Type         junctor.AuthType `json:"type"`
	Secret       string           `json:"secret,omitempty" maxLength:"65536" format:"password" doc:"The secret of any type; *** keeps the stored one."`
	Token        string           `json:"token,omitempty" maxLength:"65536" format:"password" doc:"Of bearer: the same as secret."`
	Key          string           `json:"key,omitempty" maxLength:"65536" format:"password" doc:"Of api-key: the same as secret."`
	Password     string           `json:"password,omitempty" maxLength:"65536" format:"password" doc:"Of basic: the same as secret."`
	ClientSecret string           `json:"client_secret,omitempty" maxLength:"65536" format:"password" doc:"Of oauth-client and oauth: the same as secret."`
	Header       string           `json:"header,omitempty" doc:"Of api-key; X-API-Key where it is absent."`
	Username     string           `json:"username,omitempty" doc:"Of basic."`
	TokenURL     string           `json:"token_url,omitempty" doc:"Of oauth-client."`
	ClientID     string           `json:"client_id,omitempty" doc:"Of oauth-client; of oauth where a client was registered by hand."`
	Scope        string           `json:"scope,omitempty" doc:"Of oauth-client; of oauth where others are wanted than the server names."`
	Issuer       string           `json:"issuer,omitempty" doc:"Of oauth and oauth-client: the only authorization server to go to."`
	ClientAuth   string           `json:"client_auth,omitempty" enum:"private-key-jwt" doc:"Of oauth and oauth-client: the secret is the client's private key, in PEM, and it proves itself by what it signs."`
	Grant        string           `json:"grant,omitempty" enum:"jwt-bearer,token-exchange,enterprise" doc:"Of oauth-client: what it gets its token for; absent for the client itself."`
	Subject      string           `json:"subject,omitempty" maxLength:"65536" format:"password" doc:"Of a grant: the statement, the token to exchange, or the person's identity token."`
	SubjectType  string           `json:"subject_type,omitempty" enum:"access_token,id_token,refresh_token,jwt" doc:"Of token-exchange; an access token where it is absent."`
	Audience     string           `json:"audience,omitempty" doc:"Of token-exchange."`
	IDPTokenURL  string           `json:"idp_token_url,omitempty" doc:"Of enterprise: where the identity provider exchanges the identity token."`
	IDPClientID  string           `json:"idp_client_id,omitempty" doc:"Of enterprise: the client at the identity provider."`
	IDPSecret    string           `json:"idp_secret,omitempty" maxLength:"65536" format:"password" doc:"Of enterprise: the secret of that client; absent where it has none."`
}

func (a *AuthBody) auth() (*junctor.Auth, error) {
	own := map[junctor.AuthType]string{
		junctor.AuthBearer: a.Token, junctor.AuthAPIKey: a.Key, junctor.AuthBasic: a.Password, junctor.AuthOAuthClient: a.ClientSecret, junctor.AuthOAuth: a.ClientSecret,
	}[a.Type]
	given := 0
	for _, s := range []string{a.Secret, a.Token, a.Key, a.Password, a.ClientSecret} {
		if s != "" {
			given++
		}
	}
	secret := cmp.Or(a.Secret, own)
	if given > 1 || given == 1 && secret == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "auth: one secret is wanted: secret, or token with bearer, key with api-key, password with basic, client_secret with oauth-client and oauth")
	}
	if a.Type == junctor.AuthNone && given == 0 {
		return nil, nil
	}
	return &junctor.Auth{
		Type: a.Type, Secret: secret, Header: a.Header, Username: a.Username, TokenURL: a.TokenURL, ClientID: a.ClientID, Scope: a.Scope, Issuer: a.Issuer, ClientAuth: junctor.ClientAuth(a.ClientAuth),
		Grant: junctor.OAuthGrant(a.Grant), Subject: a.Subject, SubjectType: junctor.SubjectType(a.SubjectType), Audience: a.Audience, IDPTokenURL: a.IDPTokenURL, IDPClientID: a.IDPClientID, IDPSecret: a.IDPSecret,
	}, nil
}

// apply puts what the body says into a row, whose other members stay, and takes
// the credentials out of it.
func (b *ServerBody) apply(row *junctor.Server) (credential.Set, error) {
	c := &row.Connection
	set(&c.Transport, b.Transport)
	set(&c.URL, b.URL)
	set(&c.Cwd, b.Cwd)
	set(&c.Credentials, b.Credentials)
	set(&c.Isolation, b.Isolation)
	set(&c.MaxSessions, b.MaxSessions)
	set(&c.TimeoutMS, b.TimeoutMS)
	set(&c.Views, b.Views)
	set(&c.Home, b.Home)
	set(&c.BelieveAnnotations, b.Believe)
	set(&row.Title, b.Title)
	set(&row.Private, b.Private)
	if row.Mode == junctor.ModeGenerated {
		b.applyAPI(row)
	}
	if b.Command != nil {
		c.Command = credential.KeepCommand(b.Command, c.Command)
	}
	if b.Env != nil {
		c.Env = b.Env
	}
	if b.Headers != nil {
		c.Headers = b.Headers
	}
	if b.Overrides != nil {
		c.Overrides = b.Overrides
	}
	if b.Auth != nil {
		auth, err := b.Auth.auth()
		if err != nil {
			return nil, err
		}
		c.Auth = auth
	}
	if c.Transport == "" && len(c.Command) > 0 {
		c.Transport = junctor.TransportStdio
	}
	c.Transport = cmp.Or(c.Transport, junctor.TransportHTTP)
	var literals credential.Set
	*c, literals = credential.Split(*c)
	return literals, nil
}

// applyAPI puts what the body says of a document into a row.
func (b *ServerBody) applyAPI(row *junctor.Server) {
	api := junctor.API{}
	if row.API != nil {
		api = *row.API
	}
	set(&row.URL, b.BaseURL)
	set(&api.DocumentURL, b.DocumentURL)
	set(&api.Format, b.Format)
	set(&api.Exposure, b.Exposure)
	set(&api.Mutations, b.Mutations)
	set(&api.Rate, b.Rate)
	set(&api.PollMinutes, b.PollMinutes)
	if b.Include != nil {
		api.Include = b.Include
	}
	row.API = &api
}

// document says whether the body is about a document.
func (b *ServerBody) document() bool {
	return b.Include != nil || slices.Contains([]bool{
		b.Document != nil, b.DocumentURL != nil, b.BaseURL != nil, b.Format != nil, b.Exposure != nil, b.Mutations != nil, b.Rate != nil, b.PollMinutes != nil,
	}, true)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
