package catalog

import (
	"strconv"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// vote is the evidence of one word: a tool that uses it is for a role. A weight
// of ownWordWeight decides alone if the word is in the tool's name.
type vote struct {
	role       junctor.Role
	weight     int
	inServerID bool // a common word that is the name of a product only as the id of a server
}

// wordRules are the votes of words, by a singular word, or by two words joined
// by an underscore.
type wordRules map[string]*ruleWord

// ruleWord is the entry of one word.
type ruleWord struct {
	votes      []vote
	isProduct  bool // the name of a product, which also counts in the id of a server
	beginsPair bool // some pair of words begins with it
}

// newWordRules builds the rules from the tables below.
func newWordRules() wordRules {
	r := wordRules{}
	r.readTable(roleVocabulary(), false)
	r.readTable(productNames(), true)
	return r
}

// readTable adds a table: for each role, words after the weight that they have.
func (r wordRules) readTable(table map[junctor.Role]string, brand bool) {
	for _, role := range junctor.Roles() { // in a fixed order, so that the rules are always the same
		weight := 0
		for text := range strings.FieldsSeq(table[role]) {
			if n, err := strconv.Atoi(strings.TrimSuffix(text, ":")); err == nil && strings.HasSuffix(text, ":") {
				weight = n
				continue
			}
			text, common := strings.CutPrefix(text, "~")
			r.addVote(text, vote{role, weight, common}, brand)
			if first, second, pair := strings.Cut(text, "_"); pair {
				r.wordFor(first).beginsPair = true
				if brand { // PagerDuty is also written pagerduty
					r.addVote(first+second, vote{role, weight, common}, brand)
				}
			}
		}
	}
}

// wordFor returns the entry of a word, and makes it if it is missing.
func (r wordRules) wordFor(text string) *ruleWord {
	if r[text] == nil {
		r[text] = &ruleWord{}
	}
	return r[text]
}

// addVote adds a vote. A word that both tables have says no more for that: the
// stronger vote counts.
func (r wordRules) addVote(text string, v vote, brand bool) {
	w := r.wordFor(text)
	w.isProduct = w.isProduct || brand
	for i := range w.votes {
		if w.votes[i].role == v.role && w.votes[i].inServerID == v.inServerID {
			w.votes[i].weight = max(w.votes[i].weight, v.weight)
			return
		}
	}
	w.votes = append(w.votes, v)
}

// roleVocabulary has the words of each role by weight: 4 is a word that this work
// alone uses, 1 one that it shares with most others.
func roleVocabulary() map[junctor.Role]string {
	return map[junctor.Role]string{
		"Dev": `4: repository repo commit git pull_request merge_request source_code codebase compile compiler lint linter refactor gist code_review
				github_action stack_trace stacktrace npm pypi monorepo code_search pull_requests codespace webhook
			3: dev_resource branch diff debug debugger sdk fork openapi code symbol commit_message refactoring
			2: build workflow pipeline package dependency migration snippet exception release ci issue_comment database_schema sql postgre postgresql mysql sqlite
				schema graphql typescript python javascript api_reference library feature_flag
			1: issue function endpoint api merge trigger`,
		"QA": `4: test_case testcase test_suite test_run test_plan flaky defect bug_report qa e2e unit_test load_test test_result test_report
				quality_assurance visual_regression smoke_test test_coverage
			3: regression testing assertion assert coverage bug reproduce
			2: test screenshot locator fixture mock accessibility browser lighthouse
			1: verify issue`,
		"Product": `4: roadmap feature_request user_story epic backlog sprint story_point product_requirement prd wireframe user_research product_manager release_note
				user_feedback product_feedback
			3: kanban prototype milestone prioritize initiative
			2: project_item project_view feature_flag feedback survey persona experiment issue_type project_board story mockup
			1: issue project priority`,
		"Analytics": `4: analytic funnel cohort dataset kpi data_warehouse warehouse visualization google_analytic duckdb duck_db clickhouse click_house business_intelligence pageview summary_stat
				data_analysis bigquery_table sql_query
			3: insight chart retention visualize sql pivot data_source event_count page_view
			2: dashboard metric trend statistic aggregate experiment postgre postgresql mysql sqlite time_series revenue report property_value histogram
			1: query table database analysis segment event`,
		"Ops": `4: deploy deployment kubernete k8s kubectl helm terraform ansible incident on_call oncall uptime rollback rollout infrastructure dns ec2
				autoscaling load_balancer slo runbook monitoring observability promql logql alert_rule postmortem contact_point vpc cdn
				block_storage floating_ip reserved_ip database_cluster node_pool domain_record container_registry serverless network_setting
			3: pod eviction connection_pool ip_address cluster container alert monitor restart cpu vm virtual_machine docker image_tag log_query error_rate alerting prometheus loki lambda worker service_health
			2: log metric dashboard namespace instance backup scale latency pipeline trace provision ci bucket cron time_series region restore nameserver zone
				volume snapshot domain replica ssh_key network runner cache
			1: release node host server certificate memory disk`,
		"Finance": `4: invoice payment refund billing ledger accounting payout tax vat expense payroll credit_note purchase_order iban mrr financial
				reimbursement bookkeeping balance_sheet chart_of_account payment_link payment_intent cash_flow vendor_bill external_account
			3: bank card shipping_rate charge balance transaction budget dispute portfolio exchange_rate ticker revenue stock_price accountant
			2: subscription price pricing currency coupon cost transfer checkout stock paid bill quote
			1: account product customer forecast`,
		"Support": `4: helpdesk help_desk help_center csat escalate escalation complaint customer_support customer_service canned_response support_agent
				support_request
			3: ticket support requester faq satisfaction
			2: customer macro sla knowledge_base refund inbox assignee
			1: conversation reply chat article contact agent comment`,
		"Marketing": `4: newsletter seo landing_page ad_group social_media tweet linked_in instagram mailing_list utm hashtag marketing google_ad
				email_campaign blog_post backlink serp promotion_code
			3: campaign subscriber prospect audience ad lead crm brand impression follower twitter linkedin facebook opportunity wordpress deal keyword
			2: contact blog conversion engagement promote segment email_template company influencer
			1: post content publish customer`,
		"Security": `4: vulnerability cve exploit malware threat secret_scanning code_scanning security access_control iam mfa 2fa firewall phishing siem compliance
				intrusion suspicious quarantine ioc sbom pentest sast security_advisory brute_force access_policy
				access_token retention_policy legal_hold code_security information_barrier identity_verification fraud organization_role
			3: oauth auth api_key ephemeral_key allowlist whitelist blocklist verification_session audit encrypt decrypt password dependabot permission scan audit_log sign_in
			2: authentication identity classification ssh_key secret risk certificate credential policy
			1: token role access login`,
	}
}

// productNames has the names of well-known products by role and weight. A name
// after ~ is also a common word.
func productNames() map[junctor.Role]string {
	return map[junctor.Role]string{
		"Dev":       `5: git_hub git_lab bitbucket gitea source_graph context7 jetbrain vscode xcode 3: sentry 2: jira ~linear supabase vercel netlify`,
		"QA":        `5: playwright ~cypress selenium browser_stack test_rail puppeteer sauce_lab lambdatest qase zephyr`,
		"Product":   `5: productboard figma jira ~linear ~aha miro 3: asana trello ~monday ~shortcut 2: posthog launch_darkly amplitude`,
		"Analytics": `5: big_query snowflake redshift dbt tableau looker metabase mixpanel amplitude posthog databrick ~superset power_bi 2: ~segment`,
		"Ops":       `5: kubernete k8s docker grafana prometheus datadog pager_duty new_relic cloudflare aws terraform opsgenie gcp azure argocd jenkin circle_ci heroku 3: vercel netlify elasticsearch splunk 2: sentry service_now`,
		"Finance":   `5: stripe pay_pal quick_book xero plaid brex ~ramp ~square chargebee ~wise net_suite`,
		"Support":   `5: zendesk freshdesk intercom help_scout service_now gorgia`,
		"Marketing": `5: mailchimp hub_spot marketo klaviyo semrush ahref brevo ~buffer salesforce pipedrive`,
		"Security":  `5: snyk semgrep okta crowd_strike virus_total wiz sonar_qube trivy shodan tenable 2: auth0 splunk ~vault`,
	}
}
