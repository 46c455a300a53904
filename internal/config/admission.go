package config

import (
	"fmt"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// Admission says whom of the people that an identity provider vouches for to
// let in, and as what.
type Admission struct {
	Tenant  junctor.TenantID
	Users   string // UsersCreate or UsersLink
	Domains []string
	Roles   []RoleRule
	Role    junctor.UserRole
}

// What becomes of somebody who comes for the first time.
const (
	UsersCreate = "create"
	UsersLink   = "link"
)

// RoleRule gives a role to people of whom a claim says a value.
type RoleRule struct {
	Claim, Value string
	Role         junctor.UserRole
}

func (r RoleRule) String() string { return r.Claim + "=" + r.Value + ":" + string(r.Role) }

// admissionSettings are the settings of one Admission; their names begin alike.
func admissionSettings(prefix string, of func(*Config) *Admission) []Setting {
	return []Setting{
		{
			Name: prefix + "-tenant", Kind: KindText, Default: string(junctor.DefaultTenant),
			Help: "tenant whose users come in this way",
			set: func(c *Config, s string) error {
				of(c).Tenant = junctor.TenantID(s)
				if junctor.CheckTenantID(of(c).Tenant) != nil {
					return fmt.Errorf("is no tenant: %q", short(s))
				}
				return nil
			},
			show: func(c *Config) string { return string(of(c).Tenant) },
		},
		{
			Name: prefix + "-users", Kind: KindText, Default: UsersLink, Choices: []string{UsersLink, UsersCreate},
			Help: "whom to let in for the first time: link takes users whose name is the person's e-mail address, create makes new ones too",
			set: func(c *Config, s string) (err error) {
				of(c).Users, err = oneOf([]string{UsersLink, UsersCreate})(s)
				return err
			},
			show: func(c *Config) string { return of(c).Users },
		},
		{
			Name: prefix + "-domains", Kind: KindList,
			Help: "e-mail domains of people to let in, such as example.com; * is all",
			set:  func(c *Config, s string) (err error) { of(c).Domains, err = parseList(s, parseDomain); return err },
			show: func(c *Config) string { return strings.Join(of(c).Domains, ",") },
		},
		{
			Name: prefix + "-roles", Kind: KindList,
			Help: "roles by what the provider says of a person, each time, as claim=value:role, such as groups=platform:admin",
			set:  func(c *Config, s string) (err error) { of(c).Roles, err = parseList(s, parseRole); return err },
			show: func(c *Config) string { return showRoles(of(c).Roles) },
		},
		{
			Name: prefix + "-role", Kind: KindText, Choices: roleNames(),
			Help: "role of people whom no rule of " + prefix + "-roles fits; none lets them not in where there are rules",
			set: func(c *Config, s string) error {
				role, err := oneOf(roleNames())(s)
				of(c).Role = junctor.UserRole(role)
				return err
			},
			show: func(c *Config) string { return string(of(c).Role) },
		},
	}
}

func roleNames() []string {
	roles := junctor.UserRoles()
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

func parseDomain(s string) (string, error) {
	if s != "*" && !isName(s) {
		return "", fmt.Errorf("has %q: write domains such as example.com, or *", short(s))
	}
	return strings.ToLower(s), nil
}

func parseRole(s string) (RoleRule, error) {
	claim, rest, ok := strings.Cut(s, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || claim == "" || colon <= 0 || !slices.Contains(roleNames(), rest[colon+1:]) {
		return RoleRule{}, fmt.Errorf("has %q: write claim=value:role, with a role of %s", short(s), strings.Join(roleNames(), ", "))
	}
	return RoleRule{claim, rest[:colon], junctor.UserRole(rest[colon+1:])}, nil
}

func showRoles(rules []RoleRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}

// admission checks how the settings of one go together.
func (l *loader) admission(prefix, issuer string, a Admission) {
	switch {
	case a.Users == UsersCreate && len(a.Domains) == 0 && len(a.Roles) == 0:
		l.problem("", prefix+"-domains", "--"+prefix+"-users create would let everybody in who has an account at "+issuer+
			": name e-mail domains with --"+prefix+"-domains (* is all), or roles with --"+prefix+"-roles")
	case a.Users == UsersCreate && len(a.Roles) == 0 && a.Role == "":
		l.problem("", prefix+"-role", "--"+prefix+"-users create needs the role of new users: give --"+prefix+"-role, or rules with --"+prefix+"-roles")
	}
}
