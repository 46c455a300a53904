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

// A list of tools above these is too long to be shown whole.
const (
	MaxTools = 128
	MaxList  = 256 << 10
)

// Classify says what a tool is for.
type Classify func(definition []byte, topic string) junctor.Class

// Preview shows what a document came to, before anything is saved.
func (m *Made) Preview(f Filter, classify Classify) junctor.APIPreview {
	d := m.Document
	p := junctor.APIPreview{
		Format: string(d.Format), Version: d.Version, Title: d.Title, Edition: d.Edition, Description: d.Description, BaseURL: m.Base, File: m.File,
		Auth: m.auth(), Endpoints: []junctor.APIEndpoint{}, Models: []junctor.APIModel{}, Problems: []junctor.APIProblem{}, Tried: []junctor.APIAttempt{}, Exposure: junctor.ExposureAll,
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
		e := endpoint(&m.Tools[i], f, classify)
		e.Parameters, e.Responses = parameters(&m.Tools[i]), responses(operations[e.Key])
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
	if p.Ready+p.Partial > MaxTools || bytes > MaxList {
		p.Exposure = junctor.ExposureSearch
	}
	for _, model := range d.Models {
		p.Models = append(p.Models, junctor.APIModel{Name: model.Name, Fields: model.Fields, Line: int(model.At.Line)})
	}
	for _, x := range m.Problems {
		p.Problems = append(p.Problems, junctor.APIProblem{
			File: x.At.File, Line: int(x.At.Line), Column: int(x.At.Column), Pointer: x.Pointer, Severity: string(x.Severity), Code: string(x.Code),
			Message: doc.AsSentence(x.Message), Remedy: doc.AsSentence(x.Remedy), Operation: x.Key,
		})
	}
	for _, t := range d.Tried {
		p.Tried = append(p.Tried, junctor.APIAttempt{Format: string(t.Format), Took: t.Took, Reason: t.Reason})
	}
	return p
}

func endpoint(t *tool.Tool, f Filter, classify Classify) junctor.APIEndpoint {
	definition := Definition(t, false)
	class := classify(definition, topic(t))
	e := junctor.APIEndpoint{
		Key: t.Key, Status: "ready", Tool: t.Name, Title: t.Title, Description: t.Description, Tags: t.Tags, Roles: class.Roles, Category: class.Category,
		Deprecated: t.Deprecated, Inferred: t.Inferred, Tokens: (len(definition) + 3) / 4, Line: int(t.At.Line),
	}
	for _, code := range slices.Concat(t.Incomplete, t.Partial) {
		e.Status = "incomplete"
		e.Reasons = append(e.Reasons, string(code))
	}
	if !f.Takes(t) {
		e.Status = "excluded"
	}
	e.Callable = e.Status != "excluded" && len(t.Incomplete) == 0
	return e
}

// auth are the ways to authenticate that the document declares, and how each is
// entered here.
func (m *Made) auth() []junctor.APIAuth {
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
			Scheme: name, Type: s.Type, Suggested: suggested(s), In: string(s.In), Name: s.Name, TokenURL: s.TokenURL, Description: s.Description, Operations: uses[name],
		})
	}
	return out
}

func suggested(s doc.Scheme) junctor.AuthType {
	switch s.Type {
	case "apiKey":
		return junctor.AuthAPIKey
	case "basic":
		return junctor.AuthBasic
	case "bearer", "openIdConnect":
		return junctor.AuthBearer
	case "oauth2":
		switch {
		case slices.Contains(s.Flows, flowCode):
			return junctor.AuthOAuth
		case slices.Contains(s.Flows, "clientCredentials"):
			return junctor.AuthOAuthClient
		}
		return junctor.AuthBearer
	}
	return ""
}

// Complete fills in, from the document, where a key of the API goes and where its
// tokens come from, as far as whoever entered them has not said so.
func (m *Made) Complete(auth *junctor.Auth, api *junctor.API) {
	if auth == nil {
		auth = &junctor.Auth{Type: junctor.AuthAPIKey} // that users may enter
	}
	for _, name := range slices.Sorted(maps.Keys(m.Document.Schemes)) {
		s := m.Document.Schemes[name]
		switch {
		case auth.Type == junctor.AuthAPIKey && s.Type == "apiKey" && (auth.Header == "" || auth.Header == s.Name) && api.KeyIn == "":
			auth.Header, api.KeyIn, api.KeyName = s.Name, string(s.In), s.Name
		case auth.Type == junctor.AuthOAuth && s.Type == "oauth2" && slices.Contains(s.Flows, flowCode) && auth.Issuer == "" && api.LoginURL == "":
			api.LoginURL, api.TokenURL = m.absolute(s.AuthURL), m.absolute(s.TokenURL)
			if auth.Scope == "" {
				auth.Scope = m.scopes(name)
			}
		case auth.Type == junctor.AuthOAuthClient && s.Type == "oauth2" && auth.TokenURL == "" && auth.Issuer == "":
			auth.TokenURL = s.TokenURL
		}
	}
}

// flowCode is the flow of OAuth in which a person logs in.
const flowCode = "authorizationCode"

// maxScopes is how many scopes are asked for where nobody says which.
const maxScopes = 32

// scopes are those that the operations need of a scheme; none where there are too
// many to be asked for together.
func (m *Made) scopes(scheme string) string {
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

// absolute is an address of the document, which may be one beside the API.
func (m *Made) absolute(address string) string {
	base, err := url.Parse(m.Base)
	if err != nil || address == "" {
		return address
	}
	u, err := base.Parse(address)
	if err != nil {
		return address
	}
	return u.String()
}
