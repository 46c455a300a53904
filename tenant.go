package junctor

import (
	"regexp"
	"time"
)

// TenantID names a tenant: the wall between customers. It is part of every
// stored row.
type TenantID string

// DefaultTenant is the tenant of an instance that serves one party.
const DefaultTenant TenantID = "default"

// CheckTenantID refuses what is not the id of a tenant, and says what one is.
func CheckTenantID(id TenantID) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,31}$`, string(id)); !ok {
		return Errorf(CodeInvalid, "%q is not the name of a tenant: use a lower-case letter, then up to 31 lower-case letters, digits or hyphens", string(id))
	}
	return nil
}

// Tenant is one party whose servers, keys and calls no other party sees.
type Tenant struct {
	ID        TenantID  `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}
