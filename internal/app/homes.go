package app

import (
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apps"
)

// What a person looks at and talks in is in the memory of one process, their home:
// the Views that they opened, and the runs of the rooms that they made, with those
// who listen. Whichever process is asked first when a person has none becomes it.
// The others send requests on. Views say in their ids whose they are, since browsers
// ask for their pages without saying who they are.

// atHome sends requests of the API on to the process that holds what they are of.
func (p *peers) atHome(api http.Handler) http.Handler {
	if p == nil {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, err := p.holder(r)
		if err == nil && node != "" && node != p.self.ID {
			err = p.forward(w, r, node, "", nil)
		} else if err == nil {
			api.ServeHTTP(w, r)
			return
		}
		if err != nil {
			admin.Refuse(w, &junctor.Error{
				Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
				Message: "the replica that holds this is gone or cannot be reached; try again in a moment",
			})
		}
	})
}

// holder is the process that a request of the API is for; "" is any.
func (p *peers) holder(r *http.Request) (node string, err error) {
	if passed(r) || r.Context().Value(localKey{}) != nil { // the operator's socket is of one machine
		return "", nil
	}
	path, _ := strings.CutPrefix(r.URL.Path, admin.Prefix)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "views" && (len(parts) == 1 || parts[1] == "mail"):
		who, err := p.app.authenticatePerson(r)
		if err != nil {
			return "", nil //nolint:nilerr // the API says so itself
		}
		return p.home(r, who.Tenant, who.ID())
	case parts[0] == "views":
		return p.shows(r, parts[1]), nil
	case parts[0] == "workspaces" && (len(parts) > 2 && (parts[2] == "runs" || parts[2] == "stream") || len(parts) == 2 && r.Method == http.MethodDelete):
		who, err := p.app.authenticatePerson(r)
		if err != nil {
			return "", nil //nolint:nilerr // likewise
		}
		room, err := p.app.store.For(who.Tenant).Workspace(r.Context(), parts[1])
		if err != nil {
			return "", nil //nolint:nilerr // likewise
		}
		return p.home(r, who.Tenant, room.Owner)
	}
	return "", nil
}

// home is the process that holds what is somebody's.
func (p *peers) home(r *http.Request, tenant junctor.TenantID, party string) (string, error) {
	return p.app.store.For(tenant).Home(r.Context(), "party:"+party, p.self.ID, goneAfter)
}

// shows is the other process that a View is of; "" where it is ours, or gone: then
// there is no such View.
func (p *peers) shows(r *http.Request, view string) string {
	node := apps.NodeOf(view)
	if node == "" || node == p.self.ID || p.find(r.Context(), node) == nil {
		return ""
	}
	return node
}

// showing has the pages of Views be shown by the process that they are of.
func (p *peers) showing(own http.Handler) http.Handler {
	if p == nil {
		return own
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node := p.shows(r, apps.ViewOf(r))
		if node == "" || p.forward(w, r, node, showPath, nil) != nil {
			own.ServeHTTP(w, r)
		}
	})
}
