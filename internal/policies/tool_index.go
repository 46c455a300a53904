package policies

import (
	"sync"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/policy"
)

// toolIndex finds the tools of tenants by name, as long as they do not change. A simulation looks
// for the tool of each of many thousand calls.
type toolIndex struct {
	mu      sync.Mutex
	version uint64
	tenants map[junctor.TenantID]map[toolName][]policy.Tool // never changed in place
}

// toolName names a tool of a tenant. A tool may have several versions.
type toolName struct{ server, name string }

// toolsNamed returns the versions of a tool. Callers must not change them.
func (s *Policies) toolsNamed(tenant junctor.TenantID, name toolName) []policy.Tool {
	x := &s.tools
	x.mu.Lock()
	defer x.mu.Unlock()
	if now := s.o.ToolsVersion(); x.tenants == nil || x.version != now {
		x.version, x.tenants = now, map[junctor.TenantID]map[toolName][]policy.Tool{}
	}
	index, ok := x.tenants[tenant]
	if !ok {
		index = map[toolName][]policy.Tool{}
		all, _ := s.o.Tools(tenant)
		for i := range all {
			key := toolName{all[i].Server, all[i].Name}
			index[key] = append(index[key], all[i])
		}
		x.tenants[tenant] = index
	}
	return index[name]
}
