package doc

import (
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// readSchemes reads the ways to authenticate that a document declares. Those of
// an unknown type are left out with a problem.
func (b *bundle) readSchemes(n *Node, w *pointerPath) map[string]Scheme {
	if n == nil || n.Kind != Object {
		return nil
	}
	all := make(map[string]Scheme, len(n.Members))
	for _, m := range n.Members {
		one := b.followRefs(m.Value, w.childPath(m.Key))
		if one == nil || one.Kind != Object {
			continue
		}
		s := Scheme{
			Type: one.Get("type").ScalarText(), In: Place(one.Get("in").ScalarText()), Name: one.Get("name").ScalarText(), Description: one.Get("description").ScalarText(),
			AuthURL: one.Get("authorizationUrl").ScalarText(), TokenURL: one.Get("tokenUrl").ScalarText(),
		}
		switch s.Type {
		case "http":
			if s.Type = strings.ToLower(one.Get("scheme").ScalarText()); s.Type != "basic" && s.Type != "bearer" {
				b.reportProblem(one.At, w.childPath(m.Key), Warning, UnknownValue, fmt.Sprintf("The HTTP scheme %q is unknown and is treated as bearer.", junctor.ShortenText(s.Type, 40)), "Use basic or bearer.")
				s.Type = "bearer"
			}
			s.In, s.Name = "", ""
		case "oauth2":
			readOAuthFlows(&s, one)
		case "apiKey", "basic", "openIdConnect", "mutualTLS":
		default:
			b.reportProblem(one.At, w.childPath(m.Key), Warning, UnknownValue, fmt.Sprintf("%q is not a known type of security scheme; it is ignored.", junctor.ShortenText(s.Type, 40)), "Write apiKey, http, oauth2 or openIdConnect.")
			continue
		}
		all[m.Key] = s
	}
	return all
}

// readOAuthFlows sets the flows, addresses and scopes of an OAuth scheme, in
// the notation of either version. Flows have the names of OpenAPI 3.
func readOAuthFlows(s *Scheme, one *Node) {
	s.Scopes = map[string]string{}
	scopes := func(n *Node) {
		if n = n.Get("scopes"); n != nil {
			for _, m := range n.Members {
				s.Scopes[m.Key] = m.Value.ScalarText()
			}
		}
	}
	if flow := one.Get("flow").ScalarText(); flow != "" { // Swagger
		s.Flows = []string{map[string]string{"accessCode": "authorizationCode", "application": "clientCredentials"}[flow]}
		if s.Flows[0] == "" {
			s.Flows[0] = flow
		}
		scopes(one)
		return
	}
	flows := one.Get("flows")
	if flows == nil {
		return
	}
	for _, m := range flows.Members {
		if strings.HasPrefix(m.Key, "x-") {
			continue
		}
		s.Flows = append(s.Flows, m.Key)
		if u := m.Value.Get("authorizationUrl").ScalarText(); u != "" {
			s.AuthURL = u
		}
		if u := m.Value.Get("tokenUrl").ScalarText(); u != "" {
			s.TokenURL = u
		}
		scopes(m.Value)
	}
	slices.Sort(s.Flows)
}

// maxAlternatives bounds the ways to authenticate of one operation.
const maxAlternatives = 64

// readSecurity reads the requirements of an operation: its own, or else those
// of the document. An empty list of its own means that the operation requires
// none.
func (r *pathsReader) readSecurity(op *Operation, n *Node, w *pointerPath) {
	list := n.Get("security")
	if list == nil {
		list, w = r.mainFile.root.Get("security"), r.pathFromRoot()
	}
	if list == nil || list.Kind != Array {
		return
	}
	op.DeclaresSecurity = true
	for i, alternative := range list.Items {
		if i == maxAlternatives {
			r.reportProblem(list.At, w.childPath("security"), Warning, TooLarge, fmt.Sprintf("There are more than %d ways to authenticate; the others are ignored.", maxAlternatives), "Remove those that are not used.")
			break
		}
		r.meter.Spend(1 + len(alternative.Members))
		needs := []Requirement{}
		for _, m := range alternative.Members {
			if _, ok := r.doc.Schemes[m.Key]; !ok {
				r.reportProblem(m.At, w.childPath("security").childPath(fmt.Sprint(i)).childPath(m.Key), Warning, UnknownValue, fmt.Sprintf("The security scheme %q is not declared; it is ignored.", junctor.ShortenText(m.Key, 40)), "Declare it among the security schemes.")
				continue
			}
			needs = append(needs, Requirement{Scheme: m.Key, Scopes: r.readStrings(m.Value, w)})
		}
		// An alternative of unknown schemes only is dropped: as an empty one it
		// would say that no authentication is required.
		if len(needs) > 0 || len(alternative.Members) == 0 {
			op.Security = append(op.Security, needs)
		}
	}
}
