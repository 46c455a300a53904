package apigen

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/apigen/doc"
	"github.com/junctor-mcp/junctor/internal/apigen/tool"
)

// Bounds above which a list of tools is too long for clients. A preview then
// proposes search instead. MaxList is in bytes.
const (
	MaxTools     = 128
	MaxListBytes = 256 << 10
)

// Classifier returns the roles and category of a tool. internal/catalog has the
// rules.
type Classifier func(definition []byte, topic string) junctor.Class

// Preview returns what the document would become, before anything is saved:
// endpoints, authentication, models and problems.
func (m *ImportedAPI) Preview(f Filter, classify Classifier) junctor.APIPreview {
	d := m.Document
	p := junctor.APIPreview{
		Format: string(d.Format), Version: d.Version, Title: d.Title, Edition: d.APIVersion, Description: d.Description, BaseURL: m.BaseURL, File: m.DocumentName,
		Auth: m.listAuth(), Endpoints: []junctor.APIEndpoint{}, Models: []junctor.APIModel{}, Problems: []junctor.APIProblem{}, Tried: []junctor.APIAttempt{}, Exposure: junctor.ExposureAll,
	}
	for _, s := range d.Servers {
		p.Bases = append(p.Bases, s.Address(nil))
	}
	bytes := 0
	operations := make(map[string]*doc.Operation, len(d.Operations))
	for _, op := range d.Operations {
		operations[op.Key] = op
	}
	for i := range m.Tools {
		e := makeEndpoint(&m.Tools[i], f, classify)
		e.Parameters, e.Responses = listParameters(&m.Tools[i]), listResponses(operations[e.Key])
		switch e.Status {
		case "ready":
			p.Ready++
			p.Tokens += e.Tokens
			bytes += 4 * e.Tokens
		case "incomplete":
			p.Incomplete++
			if e.Callable {
				p.Partial++
				p.Tokens += e.Tokens
				bytes += 4 * e.Tokens
			}
		default:
			p.Excluded++
		}
		p.Endpoints = append(p.Endpoints, e)
	}
	// Clients cannot use lists that are too long: they search instead.
	if p.Ready+p.Partial > MaxTools || bytes > MaxListBytes {
		p.Exposure = junctor.ExposureSearch
	}
	for _, model := range d.Models {
		p.Models = append(p.Models, junctor.APIModel{Name: model.Name, Fields: model.Fields, Line: int(model.At.Line)})
	}
	for _, x := range m.Problems {
		p.Problems = append(p.Problems, junctor.APIProblem{
			File: x.At.File, Line: int(x.At.Line), Column: int(x.At.Column), Pointer: x.Pointer, Severity: string(x.Severity), Code: string(x.Code),
			Message: doc.AsSentence(x.Message), Remedy: doc.AsSentence(x.Remedy), Operation: x.OperationKey,
		})
	}
	for _, t := range d.Attempts {
		p.Tried = append(p.Tried, junctor.APIAttempt{Format: string(t.Format), Took: t.Accepted, Reason: t.Reason})
	}
	return p
}

// makeEndpoint returns one endpoint of a preview. Tokens is an estimate of four
// bytes each.
func makeEndpoint(t *tool.Tool, f Filter, classify Classifier) junctor.APIEndpoint {
	definition := ToolDefinition(t, false)
	class := classify(definition, toolTopic(t))
	e := junctor.APIEndpoint{
		Key: t.Key, Status: "ready", Tool: t.Name, Title: t.Title, Description: t.Description, Tags: t.Tags, Roles: class.Roles, Category: class.Category,
		Deprecated: t.Deprecated, Inferred: t.Inferred, Tokens: junctor.EstimateTokens(len(definition)), Line: int(t.At.Line),
	}
	for _, code := range slices.Concat(t.Incomplete, t.Partial) {
		e.Status = "incomplete"
		e.Reasons = append(e.Reasons, string(code))
	}
	if !f.Includes(t) {
		e.Status = "excluded"
	}
	e.Callable = e.Status != "excluded" && len(t.Incomplete) == 0
	return e
}

// listAuth returns the ways to authenticate that the document declares, and how
// many operations use each.
func (m *ImportedAPI) listAuth() []junctor.APIAuth {
	uses := map[string]int{}
	for i := range m.Tools {
		seen := map[string]bool{}
		for _, needs := range m.Tools[i].Plan.Security {
			for _, n := range needs {
				if !seen[n.Scheme] {
					seen[n.Scheme] = true
					uses[n.Scheme]++
				}
			}
		}
	}
	out := make([]junctor.APIAuth, 0, len(m.Document.Schemes))
	for _, name := range slices.Sorted(maps.Keys(m.Document.Schemes)) {
		s := m.Document.Schemes[name]
		out = append(out, junctor.APIAuth{
			Scheme: name, Type: s.Type, Suggested: suggestedAuth(s), In: string(s.In), Name: s.Name, TokenURL: s.TokenURL, Description: s.Description, Operations: uses[name],
		})
	}
	return out
}

// suggestedAuth returns the kind of credential by which a scheme is entered
// here; "" if there is none.
func suggestedAuth(s doc.Scheme) junctor.AuthType {
	switch s.Type {
	case "apiKey":
		return junctor.AuthAPIKey
	case "basic":
		return junctor.AuthBasic
	case "bearer", "openIdConnect":
		return junctor.AuthBearer
	case "oauth2":
		switch {
		case slices.Contains(s.Flows, authorizationCodeFlow):
			return junctor.AuthOAuth
		case slices.Contains(s.Flows, "clientCredentials"):
			return junctor.AuthOAuthClient
		}
		return junctor.AuthBearer
	}
	return ""
}

// CompleteAuth fills in, from the document, where a key of the API goes and where
// its tokens come from. Values that the user entered stay. It changes auth and
// api.
func (m *ImportedAPI) CompleteAuth(auth *junctor.Auth, api *junctor.API) {
	if auth == nil {
		// Users may enter keys of their own.
		auth = &junctor.Auth{Type: junctor.AuthAPIKey}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Document.Schemes)) {
		s := m.Document.Schemes[name]
		switch {
		case auth.Type == junctor.AuthAPIKey && s.Type == "apiKey" && (auth.Header == "" || auth.Header == s.Name) && api.KeyIn == "":
			auth.Header, api.KeyIn, api.KeyName = s.Name, string(s.In), s.Name
		case auth.Type == junctor.AuthOAuth && s.Type == "oauth2" && slices.Contains(s.Flows, authorizationCodeFlow) && auth.Issuer == "" && api.LoginURL == "":
			api.LoginURL, api.TokenURL = m.resolveURL(s.AuthURL), m.resolveURL(s.TokenURL)
			if auth.Scope == "" {
				auth.Scope = m.requiredScopes(name)
			}
		case auth.Type == junctor.AuthOAuthClient && s.Type == "oauth2" && auth.TokenURL == "" && auth.Issuer == "":
			auth.TokenURL = s.TokenURL
		}
	}
}

// authorizationCodeFlow is the OAuth flow in which a user logs in.
const authorizationCodeFlow = "authorizationCode"

// maxScopes bounds the scopes that are requested by default.
const maxScopes = 32

// requiredScopes returns the scopes of a scheme that the operations require. It
// returns "" if there are too many to request together.
func (m *ImportedAPI) requiredScopes(scheme string) string {
	all := map[string]bool{}
	for i := range m.Tools {
		for _, needs := range m.Tools[i].Plan.Security {
			for _, n := range needs {
				if n.Scheme == scheme {
					for _, scope := range n.Scopes {
						all[scope] = true
					}
				}
			}
		}
	}
	if len(all) > maxScopes {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}

// resolveURL resolves an address of the document against the URL of the API.
func (m *ImportedAPI) resolveURL(address string) string {
	base, err := url.Parse(m.BaseURL)
	if err != nil || address == "" {
		return address
	}
	u, err := base.Parse(address)
	if err != nil {
		return address
	}
	return u.String()
}
