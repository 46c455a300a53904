package junctor

import "time"

// TenantID names a tenant: the wall between customers. It is part of every
// stored row.
type TenantID string

// DefaultTenant is the tenant of an instance that serves one party.
const DefaultTenant TenantID = "default"

// Tenant is one party whose servers, keys and calls no other party sees.
type Tenant struct {
	ID        TenantID  `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}
