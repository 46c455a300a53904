package admin

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/upstreamauth"
)

// ServerInput is a server as a caller describes it: a row without times, and the
// credentials that were in the description, taken out of the row.
type ServerInput struct {
	Server      junctor.Server
	Credentials upstreamauth.LiteralSet
	Document    string // of an auto-generated server, where its text was given
	AllowEmpty  bool   // of an auto-generated server: its document may yield no tool

	AllowUnknownTools bool // overrides may name tools that the server does not have
}

// DeclaredInput returns the server that a file declares. The user who applies it may not be its
// author, so it may name tools that the server has lost.
func DeclaredInput(s config.Server) ServerInput {
	in := ServerInput{AllowUnknownTools: true, Server: junctor.Server{ID: s.ID, Mode: junctor.ModeBYO, Title: s.Title, Private: s.Private, State: junctor.StateActive}}
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
	in.Server.Connection, in.Credentials = upstreamauth.SplitLiterals(s.Connection())
	return in
}

// ServerBody describes an upstream server or an auto-generated one, whole or as a change.
// In a change, absent members stay as they are. Members that may be a credential are
// write-only. Which members the nouns of package junctor bring is said there.
type ServerBody struct {
	junctor.Connection
	junctor.APISettings
	Auth       *AuthBody `json:"auth,omitempty"`
	Document   *string   `json:"document,omitempty" doc:"Text of the API's documentation, in OpenAPI, GraphQL or another format. Only for auto-generated servers."`
	BaseURL    *string   `json:"base_url,omitempty" maxLength:"4096" doc:"Base URL of the API. By default taken from the documentation. Only for auto-generated servers."`
	AllowEmpty bool      `json:"allow_empty,omitempty" doc:"Add the server although its document yields no tool. Only for auto-generated servers."`
	Title      *string   `json:"title,omitempty" maxLength:"200"`
	Private    *bool     `json:"private,omitempty" doc:"Whether only the user who added the server can see it."`
}

// ServerPatchBody is a change of a server.
type ServerPatchBody struct {
	State string `json:"state,omitempty" enum:"active,inactive" doc:"Enable or disable the server."`
	ServerBody

	given map[string]bool // the members that the request has
}

// UnmarshalJSON reads a change, and which members it has: an absent member is not the same
// as an empty one.
func (b *ServerPatchBody) UnmarshalJSON(text []byte) error {
	type plain ServerPatchBody // without this method
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if err := unmarshalStrictly(text, (*plain)(b)); err != nil {
		return err
	}
	b.given = map[string]bool{}
	for name := range members {
		b.given[name] = true
	}
	return nil
}

// AuthBody describes how Junctor authenticates to a server. The secret is in the member
// that its type has for it, or in secret. It may be a reference: env:NAME, file:/path,
// cmd:program.
type AuthBody struct {
	junctor.Auth
	Token        string `json:"token,omitempty" maxLength:"65536" format:"password" doc:"Alias of secret, for bearer."`
	Key          string `json:"key,omitempty" maxLength:"65536" format:"password" doc:"Alias of secret, for api-key."`
	Password     string `json:"password,omitempty" maxLength:"65536" format:"password" doc:"Alias of secret, for basic."`
	ClientSecret string `json:"client_secret,omitempty" maxLength:"65536" format:"password" doc:"Alias of secret, for oauth-client and oauth."`
}

// toAuth returns the authentication that the body describes; nil for the type none without
// a secret. It is invalid to give several secrets, or one that the type does not have.
func (a *AuthBody) toAuth() (*junctor.Auth, error) {
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
		return nil, junctor.Errorf(junctor.CodeInvalid, "auth must have exactly one secret: secret, or token for bearer, key for api-key, password for basic, client_secret for oauth-client and oauth")
	}
	if a.Type == junctor.AuthNone && given == 0 {
		return nil, nil
	}
	auth := a.Auth
	auth.Secret = secret
	return &auth, nil
}

// applyTo sets the members of the row that the body has, and takes the credentials out of
// the row and returns them. A row must never be stored with a literal credential. given
// says which members the body has; of a body that describes a whole server all count.
func (b *ServerBody) applyTo(row *junctor.Server, given func(member string) bool) (upstreamauth.LiteralSet, error) {
	c := &row.Connection
	setGivenFields(c, &b.Connection, given)
	setIfGiven(&row.Title, b.Title)
	setIfGiven(&row.Private, b.Private)
	if row.Mode == junctor.ModeGenerated {
		setIfGiven(&row.URL, b.BaseURL)
		// A new API, so that the former one stays unchanged for comparison.
		api := junctor.API{}
		if row.API != nil {
			api = *row.API
		}
		setGivenFields(&api.APISettings, &b.APISettings, given)
		row.API = &api
	}
	if b.Auth != nil {
		auth, err := b.Auth.toAuth()
		if err != nil {
			return nil, err
		}
		c.Auth = auth
	}
	if c.Transport == "" && len(c.Command) > 0 {
		c.Transport = junctor.TransportStdio
	}
	c.Transport = cmp.Or(c.Transport, junctor.TransportHTTP)
	command := c.Command
	if !given("command") {
		c.Command = nil // the stored words stay as they are
	}
	split, literals := upstreamauth.SplitLiterals(*c)
	if !given("command") {
		split.Command = command
	}
	*c = split
	return literals, nil
}

// everyMember is the given of a body that describes a whole server.
func everyMember(string) bool { return true }

// setGivenFields sets the fields of to that the body has to those of from. The
// authentication is another type in a body, and is set by itself.
func setGivenFields[T any](to, from *T, given func(member string) bool) {
	for _, f := range junctor.Fields(to) {
		if given(f.Name) && f.Name != "auth" {
			f.In(to).Set(f.In(from))
		}
	}
}

// describesDocument reports whether the body has a member that only auto-generated servers
// have.
func (b *ServerBody) describesDocument() bool {
	return b.Document != nil || b.BaseURL != nil || len(junctor.DifferentFields(b.APISettings, junctor.APISettings{})) > 0
}

// setIfGiven sets *to to *from, unless from is nil: the member was absent.
func setIfGiven[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
