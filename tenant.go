package junctor

import (
	"regexp"
	"time"
)

// TenantID names a tenant. Every stored row has one.
type TenantID string

// DefaultTenant is the tenant of an instance that serves one party. Its admins
// are operators of the instance.
const DefaultTenant TenantID = "default"

// CheckTenantID returns an error that explains the allowed form if id is not
// valid.
func CheckTenantID(id TenantID) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,31}$`, string(id)); !ok {
		return Errorf(CodeInvalid, "%q is not a valid tenant name; use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", string(id))
	}
	return nil
}

// Tenant is a closed part of an instance: no other tenant sees its users,
// servers and calls.
type Tenant struct {
	ID        TenantID  `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}
