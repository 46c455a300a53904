package servers

import (
	"context"

	junctor "github.com/junctor-mcp/junctor"
)

// HandOverServers removes the private servers of owner, and makes the principal the owner
// of the others. It returns the ids of both; after an error, of those that it came to. It
// implements identity.OwnedServers.
func (s *Registry) HandOverServers(ctx context.Context, p *junctor.Principal, owner string) (removed, handedOver []string, err error) {
	rows := s.o.Store.For(p.Tenant).By(p.ID())
	list, err := rows.Servers(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range list {
		if row.Owner != owner {
			continue
		}
		if row.Private {
			removed = append(removed, row.ID)
			err = s.RemoveServer(ctx, p, row.ID)
		} else {
			handedOver = append(handedOver, row.ID)
			handed := row
			handed.Owner = p.ID()
			admitted, refused := s.Judge.Server(ctx, p, handed, &row)
			if err = refused; err == nil {
				_, err = rows.UpdateServer(ctx, admitted)
			}
		}
		if err != nil {
			return removed, handedOver, err
		}
	}
	return removed, handedOver, nil
}
