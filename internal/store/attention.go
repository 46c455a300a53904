package store

import (
	"context"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// maxAttention bounds each list of what needs attention.
const maxAttention = 1000

// RoomApproval is a call that waits for a decision, with the name of its room.
type RoomApproval struct {
	junctor.CallApproval
	RoomName string
}

// OpenApprovals lists the calls of all tenants that wait for a decision, oldest first.
func (s *Store) OpenApprovals(ctx context.Context) ([]RoomApproval, error) {
	list, err := readAll(ctx, s, scanCallApproval, `SELECT `+approvalColumns+` FROM room_approvals WHERE state = 'open' ORDER BY requested_at, id LIMIT ?`, maxAttention)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the pending approvals")
	}
	out := make([]RoomApproval, len(list))
	names := map[string]string{}
	for i := range list {
		out[i].CallApproval = list[i]
		key := string(list[i].Tenant) + "\x00" + list[i].Room
		if _, known := names[key]; !known {
			room, err := s.For(list[i].Tenant).Room(ctx, list[i].Room)
			if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
				return nil, err
			}
			names[key] = room.Name
		}
		out[i].RoomName = names[key]
	}
	return out, nil
}

// ChangedServer is a server whose tools changed.
type ChangedServer struct {
	Tenant junctor.TenantID
	Server string
	Tools  int       // number of tools that changed
	Newest time.Time // time of the last change
}

// ChangedServers lists the servers of all tenants whose tools changed since a time, those with
// the newest changes first.
func (s *Store) ChangedServers(ctx context.Context, since time.Time) ([]ChangedServer, error) {
	list, err := readAll(ctx, s, func(row scanner) (c ChangedServer, err error) {
		var tools, newest int64
		err = row.Scan(&c.Tenant, &c.Server, &tools, &newest)
		c.Tools, c.Newest = int(tools), fromMicros(newest)
		return c, err
	}, `SELECT tenant_id, server, COUNT(DISTINCT tool), MAX(seen_at) FROM tool_changes WHERE seen_at >= ?
		GROUP BY tenant_id, server ORDER BY 4 DESC, 1, 2 LIMIT ?`, toMicros(since), maxAttention)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the servers with changed tools")
	}
	return list, nil
}

// SuggestedServer is a server with suggestions for its tools that wait for a decision.
type SuggestedServer struct {
	Tenant junctor.TenantID
	Server string
	Owner  string // Principal.ID; "" if nobody owns the server
	Tools  int
	Oldest time.Time // time of the first suggestion
}

// SuggestedServers lists the servers of all tenants with suggestions, those that wait longest
// first.
func (s *Store) SuggestedServers(ctx context.Context) ([]SuggestedServer, error) {
	list, err := readAll(ctx, s, func(row scanner) (c SuggestedServer, err error) {
		var oldest int64
		err = row.Scan(&c.Tenant, &c.Server, &c.Tools, &oldest)
		c.Oldest = fromMicros(oldest)
		return c, err
	}, `SELECT tenant_id, server, COUNT(*), MIN(made_at) FROM tool_suggestions GROUP BY tenant_id, server ORDER BY 4, 1, 2 LIMIT ?`, maxAttention)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the servers with suggestions")
	}
	for i := range list {
		server, err := s.For(list[i].Tenant).Server(ctx, list[i].Server)
		if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
			return nil, err
		}
		list[i].Owner = server.Owner
	}
	return list, nil
}

// SuspendedEndpoints lists the delivery endpoints of all tenants whose tokens are suspended.
func (s *Store) SuspendedEndpoints(ctx context.Context) ([]junctor.AgentEndpoint, error) {
	list, err := readAll(ctx, s, scanEndpoint, `SELECT `+endpointColumns+` FROM agent_endpoints WHERE suspended <> '' ORDER BY updated_at, tenant_id, agent LIMIT ?`, maxAttention)
	if err != nil {
		return nil, s.wrapError(ctx, err, "list the suspended delivery endpoints")
	}
	return list, nil
}
