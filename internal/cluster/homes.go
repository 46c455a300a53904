package cluster

import (
	"net/http"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/apps"
)

// Each person has a home: the replica that holds their open App views and the runs of
// their rooms in memory. The first replica that is asked becomes the home; the others
// forward requests to it. The id of an App view names its replica, because browsers
// load pages without credentials.

// RouteToHome forwards requests of the admin API to the replica that holds their
// state.
func (p *Replicas) RouteToHome(api http.Handler) http.Handler {
	if p == nil {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replica, err := p.homeReplica(r)
		if err == nil && replica != "" && replica != p.self.ID {
			err = p.forward(w, r, replica, "", nil)
		} else if err == nil {
			api.ServeHTTP(w, r)
			return
		}
		if err != nil {
			admin.Refuse(w, &junctor.Error{
				Code: junctor.CodeUnavailable, RetryAfter: time.Second, Cause: err,
				Message: "the responsible replica has stopped or is unreachable; try again in a moment",
			})
		}
	})
}

// homeReplica returns the replica that must answer a request of the admin API, or ""
// if any replica can.
func (p *Replicas) homeReplica(r *http.Request) (replica string, err error) {
	if wasForwarded(r) || p.parts.IsLocal(r) {
		return "", nil
	}
	path, _ := strings.CutPrefix(r.URL.Path, admin.Prefix)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "views" && (len(parts) == 1 || parts[1] == "mail"):
		who, err := p.parts.AuthenticatePerson(r)
		if err != nil {
			return "", nil //nolint:nilerr // the API returns this error itself
		}
		return p.findHome(r, who.Tenant, who.ID())
	case parts[0] == "views":
		return p.viewReplica(r, parts[1]), nil
	case parts[0] == "rooms" && (len(parts) > 2 && (parts[2] == "runs" || parts[2] == "stream") || len(parts) == 2 && r.Method == http.MethodDelete):
		who, err := p.parts.AuthenticatePerson(r)
		if err != nil {
			return "", nil //nolint:nilerr // likewise
		}
		room, err := p.Store.For(who.Tenant).Room(r.Context(), parts[1])
		if err != nil {
			return "", nil //nolint:nilerr // likewise
		}
		return p.findHome(r, who.Tenant, room.Owner)
	}
	return "", nil
}

// findHome returns the home of a person, and makes this replica it if there is none.
func (p *Replicas) findHome(r *http.Request, tenant junctor.TenantID, party string) (string, error) {
	return p.Store.For(tenant).Home(r.Context(), "party:"+party, p.self.ID, ExpiryAfter)
}

// viewReplica returns the other replica that holds an App view. It returns "" if this
// one does, or if that replica is dead: then the view does not exist.
func (p *Replicas) viewReplica(r *http.Request, view string) string {
	replica := apps.ReplicaOf(view)
	if replica == "" || replica == p.self.ID || p.findReplica(r.Context(), replica) == nil {
		return ""
	}
	return replica
}

// RouteViews forwards requests for pages of App views to the replica that holds them.
func (p *Replicas) RouteViews(own http.Handler) http.Handler {
	if p == nil {
		return own
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replica := p.viewReplica(r, apps.ViewIDOf(r))
		if replica == "" || p.forward(w, r, replica, viewPath, nil) != nil {
			own.ServeHTTP(w, r)
		}
	})
}
