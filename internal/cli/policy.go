package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/config"
	"github.com/junctor-mcp/junctor/internal/policies"
)

// policyCommand returns the group `junctor policy`: rules about calls.
func (c *cli) policyCommand() *cobra.Command {
	cmd := newGroupCommand("policy", "Decide with rules which calls are made, and what results may contain", "junctor policy ls")
	cmd.AddCommand(c.policyList(), c.policyShow(), c.policySet(), c.policyMove(), c.policyRemove(), c.policyCheck(), c.policySimulate(), c.policyExplain(), c.policyTest(), c.policyTemplates())
	return cmd
}

// policyList returns `policy ls`.
func (c *cli) policyList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ls", Short: "List the rules in the order in which they are evaluated", Example: "  junctor policy ls", Args: cobra.NoArgs,
		RunE: runCommand(func(cmd *cobra.Command, _ []string) error {
			return printList(c, cmd, "/policies", []string{"#", "NAME", "PHASE", "VERDICT", "MODE", "TARGET", "STATE"}, func(r admin.PolicyEntry) []string {
				d := r.WithDefaults()
				name := r.Name
				if r.Operators {
					name += " (operators)"
				}
				return []string{strconv.Itoa(r.Position), name, string(d.Phase), string(d.Verdict), string(d.Mode), describeTarget(&r), string(r.State)}
			})
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// describeTarget returns the target of a rule as one text.
func describeTarget(r *admin.PolicyEntry) string {
	if r.Restricted {
		return "(not shown)"
	}
	var parts []string
	for _, list := range []struct {
		noun string
		all  []string
	}{{"", r.Target.Items}, {"agents ", r.Target.Agents}, {"users ", r.Target.Users}, {"tenants ", r.Target.Tenants}} {
		if len(list.all) > 0 {
			parts = append(parts, list.noun+strings.Join(list.all, ", "))
		}
	}
	if len(parts) == 0 {
		return "all calls"
	}
	return strings.Join(parts, "; ")
}

// policyShow returns `policy show`.
func (c *cli) policyShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a rule and what is wrong with it", Example: "  junctor policy show no-deletes", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completePolicies,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			var r admin.PolicyEntry
			if err := c.requestAPI(cmd, http.MethodGet, apiPath("policies", args[0]), nil, &r); err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(r)
			}
			d := r.WithDefaults()
			kinds := make([]string, len(d.Kinds))
			for i, k := range d.Kinds {
				kinds[i] = string(k)
			}
			size, filter := "", ""
			if r.MaxSize > 0 {
				size = strconv.Itoa(r.MaxSize)
			}
			if r.Filter != nil {
				filter = r.Filter.URL
			}
			if err := c.printFacts("name", r.Name, "title", r.Title, "position", strconv.Itoa(r.Position), "phase", string(d.Phase), "kinds", strings.Join(kinds, ", "), "target", describeTarget(&r),
				"when", r.When, "verdict", string(d.Verdict), "redacts", strings.Join(r.Redact, ", "), "max size", size, "filter", filter, "message", r.Message,
				"mode", string(d.Mode), "state", string(r.State), "declared in", r.Declared, "version", r.Version, "changed", formatTime(r.UpdatedAt)); err != nil {
				return err
			}
			c.printPolicyProblems(r.Problems)
			return nil
		}),
	}
	c.addInstanceFlags(cmd)
	return cmd
}

// completePolicies suggests the names of rules.
func (c *cli) completePolicies(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeFrom(c, "/policies", func(r admin.PolicyEntry) (string, string) { return r.Name, r.Title })(cmd, args, prefix)
}

// printPolicyProblems writes problems of rules to standard error.
func (c *cli) printPolicyProblems(list []admin.PolicyProblem) {
	for i := range list {
		kind := "error"
		if list[i].Warning {
			kind = "warning"
		}
		c.printNote("%s: %s", kind, list[i].Text())
	}
}

// policyFlags are the flags of `policy set`.
type policyFlags struct {
	file            string
	replace, strict bool
	rule            junctor.PolicyRule
	kinds           []string
	phase, verdict  string
	mode            string
	filter          junctor.PolicyFilter
	timeout         time.Duration
	onFailure       string
	place           admin.PolicyPlace
}

// addTo adds the flags to a command.
func (f *policyFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "`file` with a list policies, as in a settings file; - is standard input")
	flags.BoolVar(&f.replace, "replace", false, "with --file: remove all other rules")
	flags.BoolVar(&f.strict, "strict", false, "also refuse rules with warnings, such as a target that matches nothing")
	flags.StringVar(&f.rule.Title, "title", "", "what the rule is for")
	flags.StringVar(&f.phase, "phase", "", "`call` or result")
	flags.StringSliceVar(&f.kinds, "kind", nil, "`kind` of operation: tool (default), resource, prompt, completion or subscription; repeatable")
	flags.StringSliceVar(&f.rule.Target.Items, "item", nil, "`server/item` that the rule is about, such as 'files/*' or '*/delete_*'; repeatable")
	flags.StringSliceVar(&f.rule.Target.Agents, "agent", nil, "name of an agent; '*' is every agent; repeatable")
	flags.StringSliceVar(&f.rule.Target.Users, "user", nil, "name of a user; repeatable")
	flags.StringSliceVar(&f.rule.Target.Tenants, "tenant", nil, "tenant; makes an operators' rule, which is evaluated before the tenants' own; repeatable")
	flags.StringVar(&f.rule.When, "when", "", "condition in `CEL`, such as 'args.amount > 1000'")
	flags.StringVar(&f.verdict, "verdict", "", "`deny`, ask or allow for calls; deny, redact or cut for results")
	flags.StringVar(&f.rule.Message, "message", "", "message that a denied caller receives")
	flags.StringSliceVar(&f.rule.Redact, "redact", nil, "with the verdict redact: `detector` secrets, email, phone, iban, card, jwt or pattern:RE2; repeatable")
	flags.IntVar(&f.rule.MaxSize, "max-size", 0, "with the verdict cut: the most `bytes` of text")
	flags.StringVar(&f.filter.URL, "filter-url", "", "`URL` of a webhook that decides about calls that match")
	flags.StringVar(&f.filter.Secret, "filter-secret", "", "`reference` to the secret that signs its requests: env:NAME, file:PATH or cmd:COMMAND")
	flags.DurationVar(&f.timeout, "filter-timeout", 0, "how long to wait for its answer (default 2s)")
	flags.StringVar(&f.onFailure, "filter-on-failure", "", "what applies without its answer: `deny` (default) or allow")
	flags.StringVar(&f.mode, "mode", "", "`enforce` (default), or audit, which only records what the rule would do")
	f.addPlaceTo(cmd)
	cmd.MarkFlagsMutuallyExclusive("before", "after", "first", "last")
	for flag, words := range map[string][]string{
		"phase": {"call", "result"}, "verdict": {"allow", "deny", "ask", "redact", "cut"}, "mode": {"enforce", "audit"}, "filter-on-failure": {"deny", "allow"},
		"kind": {"tool", "resource", "prompt", "completion", "subscription"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// addPlaceTo adds the flags for the place of a rule.
func (f *policyFlags) addPlaceTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.place.Before, "before", "", "put the rule before the `rule` of this name")
	flags.StringVar(&f.place.After, "after", "", "put the rule after the `rule` of this name")
	flags.BoolVar(&f.place.First, "first", false, "make the rule the first one")
	flags.BoolVar(&f.place.Last, "last", false, "make the rule the last one")
}

// applyTo sets the members of a rule whose flags were given.
func (f *policyFlags) applyTo(cmd *cobra.Command, r *junctor.PolicyRule) {
	kinds := make([]junctor.Kind, len(f.kinds))
	for i, k := range f.kinds {
		kinds[i] = junctor.Kind(k)
	}
	for flag, set := range map[string]func(){
		"title": func() { r.Title = f.rule.Title }, "phase": func() { r.Phase = junctor.PolicyPhase(f.phase) }, "kind": func() { r.Kinds = kinds },
		"item": func() { r.Target.Items = f.rule.Target.Items }, "agent": func() { r.Target.Agents = f.rule.Target.Agents },
		"user": func() { r.Target.Users = f.rule.Target.Users }, "tenant": func() { r.Target.Tenants = f.rule.Target.Tenants },
		"when": func() { r.When = f.rule.When }, "verdict": func() { r.Verdict = junctor.PolicyVerdict(f.verdict) },
		"message": func() { r.Message = f.rule.Message }, "redact": func() { r.Redact = f.rule.Redact }, "max-size": func() { r.MaxSize = f.rule.MaxSize },
		"mode": func() { r.Mode = junctor.PolicyMode(f.mode) },
	} {
		if cmd.Flags().Changed(flag) {
			set()
		}
	}
	if !slices.ContainsFunc([]string{"filter-url", "filter-secret", "filter-timeout", "filter-on-failure"}, cmd.Flags().Changed) {
		return
	}
	next := junctor.PolicyFilter{}
	if r.Filter != nil {
		next = *r.Filter
	}
	for flag, set := range map[string]func(){
		"filter-url": func() { next.URL = f.filter.URL }, "filter-secret": func() { next.Secret = f.filter.Secret },
		"filter-timeout": func() { next.Timeout = junctor.Duration(f.timeout) }, "filter-on-failure": func() { next.OnFailure = junctor.PolicyVerdict(f.onFailure) },
	} {
		if cmd.Flags().Changed(flag) {
			set()
		}
	}
	if r.Filter = &next; next.URL == "" {
		r.Filter = nil
	}
}

// policySet returns `policy set`.
func (c *cli) policySet() *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use: "set [NAME]", Short: "Add or change a rule, or the rules of a file",
		Long: "Add or change a rule with flags, or the rules of a file. Members without a flag stay as they are. A new rule is the last one, unless a flag says where it stands.\n\n" +
			"The first rule of phase call that matches and denies or asks decides; one that allows ends the search. All rules of phase result that match apply. " +
			"A rule never lets a call through that the caller's rights refuse.\n\n" +
			"Rules are checked against the tools that they are about. A rule that does not check is not stored, and every mistake is shown with line and column.",
		Example: "  junctor policy set no-deletes --item '*/delete_*' --agent '*' --verdict deny --message 'Agents must not delete.'\n" +
			"  junctor policy set amount --item 'shop/refund' --when 'args.amount > 1000' --verdict deny --mode audit --first\n" +
			"  junctor policy set --file rules.yaml --replace",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completePolicies,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			switch {
			case (len(args) == 1) == (f.file != ""):
				return usageErrorf("name a rule, or use --file")
			case f.file != "":
				return c.setPolicyFile(cmd, &f)
			}
			rule, version, isNew, err := c.readPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			if isNew && f.verdict == "" {
				return usageErrorf("there is no rule %q; a new one requires --verdict", args[0])
			}
			f.applyTo(cmd, &rule)
			stored, err := c.putPolicy(cmd, &rule, f.place, f.strict, version)
			if err != nil {
				return err
			}
			c.printPolicyProblems(stored.Problems)
			if c.wantsJSON() {
				return c.printJSON(stored)
			}
			c.printNote("rule %s stored at position %d", stored.Name, stored.Position)
			return nil
		}),
	}
	f.addTo(cmd)
	c.addInstanceFlags(cmd)
	return cmd
}

// readPolicy returns a stored rule with its version, or an empty one if there is none.
func (c *cli) readPolicy(cmd *cobra.Command, name string) (rule junctor.PolicyRule, version time.Time, isNew bool, err error) {
	var entry admin.PolicyEntry
	err = c.requestAPI(cmd, http.MethodGet, apiPath("policies", name), nil, &entry)
	if junctor.CodeOf(err) == junctor.CodeNotFound {
		return junctor.PolicyRule{Name: name}, time.Time{}, true, nil
	}
	entry.Name = name
	return entry.PolicyRule, entry.UpdatedAt, false, err
}

// putPolicy stores a rule. If version is not zero, the stored one has to have it.
func (c *cli) putPolicy(cmd *cobra.Command, rule *junctor.PolicyRule, place admin.PolicyPlace, strict bool, version time.Time) (admin.PolicyEntry, error) {
	client, err := c.newClient(cmd)
	if err != nil {
		return admin.PolicyEntry{}, err
	}
	client.version = version
	query := url.Values{}
	for name, value := range map[string]string{"before": place.Before, "after": place.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, is := range map[string]bool{"first": place.First, "last": place.Last, "strict": strict} {
		if is {
			query.Set(name, "true")
		}
	}
	path := apiPath("policies", rule.Name)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var stored admin.PolicyEntry
	err = client.exchange(cmd.Context(), http.MethodPut, path, admin.NewPolicyBody(rule), &stored)
	return stored, err
}

// readPolicyFile returns the rules of a file; - is standard input.
func (c *cli) readPolicyFile(name string) ([]junctor.PolicyRule, error) {
	text, err := c.readTextFile(name)
	if err != nil {
		return nil, err
	}
	d, err := config.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if d.Policies == nil {
		return nil, usageErrorf("%s has no list policies", name)
	}
	out := make([]junctor.PolicyRule, len(d.Policies))
	for i := range d.Policies {
		out[i] = d.Policies[i].PolicyRule
	}
	return out, nil
}

// readTextFile returns the content of a file; - is standard input.
func (c *cli) readTextFile(name string) ([]byte, error) {
	from := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageErrorf("%s cannot be read: %v", name, err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxApplyFile+1))
	switch {
	case err != nil:
		return nil, usageErrorf("%s cannot be read: %v", name, err)
	case len(text) > maxApplyFile:
		return nil, usageErrorf("%s is too large", name)
	}
	return text, nil
}

// setPolicyFile stores the rules of a file.
func (c *cli) setPolicyFile(cmd *cobra.Command, f *policyFlags) error {
	rules, err := c.readPolicyFile(f.file)
	if err != nil {
		return err
	}
	var stored listPage[admin.PolicyEntry]
	if f.replace {
		path := "/policies"
		if f.strict {
			path += "?strict=true"
		}
		if err := c.requestAPI(cmd, http.MethodPut, path, map[string]any{"rules": rules}, &stored); err != nil {
			return err
		}
	} else {
		place := f.place
		for i := range rules {
			one, err := c.putPolicy(cmd, &rules[i], place, f.strict, time.Time{})
			if err != nil {
				return err
			}
			if place != (admin.PolicyPlace{}) {
				place = admin.PolicyPlace{After: one.Name} // the others follow, in order
			}
			stored.Items = append(stored.Items, one)
		}
	}
	for i := range stored.Items {
		c.printPolicyProblems(stored.Items[i].Problems)
	}
	if c.wantsJSON() {
		return c.printJSON(stored)
	}
	c.printNote("%d rules stored", len(rules))
	return nil
}

// policyMove returns `policy move`.
func (c *cli) policyMove() *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{
		Use: "move NAME", Short: "Put a rule at another place", Example: "  junctor policy move no-deletes --before amount", Args: cobra.ExactArgs(1), ValidArgsFunction: c.completePolicies,
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			if f.place == (admin.PolicyPlace{}) {
				return usageErrorf("say where: --before, --after, --first or --last")
			}
			rule, version, isNew, err := c.readPolicy(cmd, args[0])
			if err == nil && isNew {
				err = junctor.Errorf(junctor.CodeNotFound, "there is no rule %q; junctor policy ls lists the rules", args[0])
			}
			if err != nil {
				return err
			}
			stored, err := c.putPolicy(cmd, &rule, f.place, false, version)
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(stored)
			}
			c.printNote("rule %s is at position %d", stored.Name, stored.Position)
			return nil
		}),
	}
	f.addPlaceTo(cmd)
	cmd.MarkFlagsMutuallyExclusive("before", "after", "first", "last")
	c.addInstanceFlags(cmd)
	return cmd
}

// policyRemove returns `policy rm`.
func (c *cli) policyRemove() *cobra.Command {
	return c.newDeleteCommand(deletion{
		use: "rm NAME", short: "Remove a rule", example: "policy rm no-deletes", collection: "policies", key: "name", state: "removed", complete: c.completePolicies,
	})
}

// policyTemplates returns `policy templates`.
func (c *cli) policyTemplates() *cobra.Command {
	return &cobra.Command{
		Use: "templates", Short: "Print rules to start from", Args: cobra.NoArgs,
		Long:    "Print rules to start from, in the form of a settings file. Take those that you need, change the names of servers, domains and amounts, and store them with junctor policy set --file.",
		Example: "  junctor policy templates > rules.yaml",
		RunE: runCommand(func(*cobra.Command, []string) error {
			rules, err := policies.Templates()
			if err != nil {
				return err
			}
			if c.wantsJSON() {
				return c.printJSON(rules)
			}
			text, err := config.Declared{Policies: config.FromPolicies(rules)}.YAML()
			if err == nil {
				_, err = c.out.Write(text)
			}
			return err
		}),
	}
}

// readCases returns the cases of a file as JSON.
func (c *cli) readCases(name string) (json.RawMessage, error) {
	text, err := c.readTextFile(name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Cases []map[string]any `yaml:"cases"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, usageErrorf("%s is invalid YAML: %v", name, err)
	}
	if len(file.Cases) == 0 {
		return nil, usageErrorf("%s has no list cases", name)
	}
	out, err := json.Marshal(file.Cases)
	if err != nil {
		return nil, usageErrorf("%s: %v", name, err)
	}
	return out, nil
}

// policyTest returns `policy test`.
func (c *cli) policyTest() *cobra.Command {
	var rules string
	cmd := &cobra.Command{
		Use: "test CASES", Short: "Evaluate rules on the made-up calls of a file",
		Long: "Evaluate the stored rules, or those of --rules, on the calls of a file, and compare what they come to with what the file expects. " +
			"No server is called. A case has principal, call (server/tool), args and expect: made, denied, asked, redacted or cut.\n\n" +
			"The exit code is 0 if all cases end as expected, and 1 otherwise.",
		Example: "  junctor policy test cases.yaml\n  junctor policy test cases.yaml --rules rules.yaml", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			cases, err := c.readCases(args[0])
			if err != nil {
				return err
			}
			body := map[string]any{"cases": cases}
			if rules != "" {
				if body["rules"], err = c.readPolicyFile(rules); err != nil {
					return err
				}
			}
			var answer struct {
				Results []admin.PolicyCaseResult `json:"results"`
				Failed  int                      `json:"failed"`
			}
			if err := c.requestAPI(cmd, http.MethodPost, "/policies/test", body, &answer); err != nil {
				return err
			}
			if c.wantsJSON() {
				err = c.printJSON(answer)
			} else {
				err = c.printCaseResults(answer.Results)
			}
			if err == nil && answer.Failed > 0 {
				err = silentFailure(fmt.Sprintf("%d cases failed", answer.Failed))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&rules, "rules", "", "`file` with rules to test in place of the stored ones")
	c.addInstanceFlags(cmd)
	return cmd
}

// printCaseResults prints what came of cases.
func (c *cli) printCaseResults(results []admin.PolicyCaseResult) error {
	rows := make([][]string, len(results))
	for i, r := range results {
		state := "ok"
		if !r.OK {
			state = "FAILED"
		}
		rows[i] = []string{state, r.Name, r.Got, r.Rule, r.Problem}
	}
	return c.printTable([]string{"RESULT", "CASE", "GOT", "RULE", "PROBLEM"}, rows)
}
