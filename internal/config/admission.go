package config

import (
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Admission defines which users of an identity provider may sign in, and with
// which role.
type Admission struct {
	Tenant  junctor.TenantID
	Users   string // UsersCreate or UsersLink
	Domains []string
	Roles   []RoleRule
	Role    junctor.UserRole
	// GroupsClaim is the claim with the groups of a user, which rules about calls can read.
	GroupsClaim string
}

// The values of Admission.Users: what happens when somebody signs in for the
// first time. UsersLink requires a user whose name is the e-mail address;
// UsersCreate also creates one.
const (
	UsersCreate = "create"
	UsersLink   = "link"
)

// RoleRule gives a role to users for whom a claim of the provider has a value.
type RoleRule struct {
	Claim, Value string
	Role         junctor.UserRole
}

// String returns the rule in the form that parseRole accepts.
func (r RoleRule) String() string { return r.Claim + "=" + r.Value + ":" + string(r.Role) }

// admissionSettings returns the settings of one Admission, which belong to
// group. Their names begin with prefix; of returns the Admission in a Config.
func admissionSettings(group Group, prefix string, of func(*Config) *Admission) []Setting {
	return []Setting{
		{
			Group: group, Name: prefix + "-tenant", Kind: KindText, Default: string(junctor.DefaultTenant),
			Help: "tenant of the users that come from this provider",
			set: func(c *Config, s string) error {
				of(c).Tenant = junctor.TenantID(s)
				if junctor.CheckTenantID(of(c).Tenant) != nil {
					return fmt.Errorf("has %q, which is not a valid tenant ID: use a name such as acme", shortenText(s))
				}
				return nil
			},
			show: func(c *Config) string { return string(of(c).Tenant) },
		},
		{
			Group: group, Name: prefix + "-users", Kind: KindText, Default: UsersLink, Choices: []string{UsersLink, UsersCreate},
			Help: "which users to accept at their first sign-in: link accepts existing users whose name is the e-mail address; create also creates users",
			set: func(c *Config, s string) (err error) {
				of(c).Users, err = parseChoice([]string{UsersLink, UsersCreate})(s)
				return err
			},
			show: func(c *Config) string { return of(c).Users },
		},
		{
			Group: group, Name: prefix + "-domains", Kind: KindList,
			Help: "e-mail domains of users to accept, such as example.com; * accepts all",
			set:  func(c *Config, s string) (err error) { of(c).Domains, err = parseList(s, parseDomain); return err },
			show: func(c *Config) string { return strings.Join(of(c).Domains, ",") },
		},
		{
			Group: group, Name: prefix + "-roles", Kind: KindList,
			Help: "rules that set a user's role from the provider's claims at each sign-in, as claim=value:role, such as groups=platform:admin",
			set:  func(c *Config, s string) (err error) { of(c).Roles, err = parseList(s, parseRole); return err },
			show: func(c *Config) string { return showRoles(of(c).Roles) },
		},
		{
			Group: group, Name: prefix + "-role", Kind: KindText, Choices: roleNames(),
			Help: "role for users that match no rule in --" + prefix + "-roles; if it is empty and there are rules, such users are rejected",
			set: func(c *Config, s string) error {
				role, err := parseChoice(roleNames())(s)
				of(c).Role = junctor.UserRole(role)
				return err
			},
			show: func(c *Config) string { return string(of(c).Role) },
		},
		{
			Group: group, Name: prefix + "-groups-claim", Kind: KindText, Default: "groups",
			Help: "claim of the provider with the groups of a user, which rules about calls read as principal.groups",
			set:  func(c *Config, s string) (err error) { of(c).GroupsClaim, err = parseText(s); return err },
			show: func(c *Config) string { return of(c).GroupsClaim },
		},
	}
}

// roleNames returns the names of the roles of users.
func roleNames() []string {
	roles := junctor.UserRoles()
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

// parseDomain parses an e-mail domain, or * for all.
func parseDomain(s string) (string, error) {
	if s != "*" && !isHostName(s) {
		return "", fmt.Errorf("has %q: write e-mail domains such as example.com, or * for all", shortenText(s))
	}
	return strings.ToLower(s), nil
}

// parseRole parses claim=value:role. The value may contain colons.
func parseRole(s string) (RoleRule, error) {
	claim, rest, ok := strings.Cut(s, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || claim == "" || colon <= 0 || !slices.Contains(roleNames(), rest[colon+1:]) {
		return RoleRule{}, fmt.Errorf("has %q: write claim=value:role, where role is one of %s", shortenText(s), strings.Join(roleNames(), ", "))
	}
	return RoleRule{claim, rest[:colon], junctor.UserRole(rest[colon+1:])}, nil
}

// showRoles returns rules as a list that parseRole accepts.
func showRoles(rules []RoleRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}

// checkAdmission checks the settings of one Admission against each other.
// Without domains or roles, creating users would let in everybody who has an
// account at the provider, which may be the whole world.
func (l *loader) checkAdmission(prefix, issuer string, a Admission) {
	switch {
	case a.Users == UsersCreate && len(a.Domains) == 0 && len(a.Roles) == 0:
		l.addProblem("", prefix+"-domains", "--"+prefix+"-users create would accept everyone with an account at "+issuer+
			": set --"+prefix+"-domains (* accepts all) or --"+prefix+"-roles")
	case a.Users == UsersCreate && len(a.Roles) == 0 && a.Role == "":
		l.addProblem("", prefix+"-role", "--"+prefix+"-users create requires a role for new users: set --"+prefix+"-role or --"+prefix+"-roles")
	}
}
