package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/references"
	"engang/infra/engang/stack"
	"engang/infra/engang/text"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/secrets"
	"engang/shared/woocommerce"
)

// A System is an engang that answers, deployed or on this machine.
type System struct {
	API      *client.Client
	Store    references.Store // secrets, by the operator's own rights
	HTTP     *http.Client     // to models and shops
	Stack    *stack.Stack     // nil on this machine
	Patience time.Duration

	checks []Check
	set    config.Set
	keys   map[string]secrets.Value // of the providers of models
}

// names are the checks that rest on what is applied.
var names = []string{"secrets", "models", "webhooks"}

// Look looks at API, configuration, secrets, models, webhooks and quotas. It fails in no other way than by what the
// checks say.
func (s *System) Look(ctx context.Context) []Check {
	s.checks = nil
	answers := s.api(ctx)
	if s.Stack != nil {
		s.quotas(ctx)
	}
	if !answers {
		s.unchecked("the API was not heard", append([]string{"config"}, names...)...)
		return s.checks
	}
	if !s.config(ctx) {
		s.unchecked("no configuration was seen", names...)
		return s.checks
	}
	s.secrets(ctx)
	s.models(ctx)
	s.webhooks(ctx)
	return s.checks
}

func (s *System) add(name string, state State, text, remedy string) {
	s.checks = append(s.checks, Check{name, state, text, remedy})
}

func (s *System) unchecked(why string, checks ...string) {
	for _, name := range checks {
		s.add(name, Unchecked, why, "")
	}
}

func (s *System) api(ctx context.Context) (answers bool) {
	if s.API.API == "" {
		s.unchecked("the stack has no output ApiUrl", "api")
		return false
	}
	v, err := s.API.Version(ctx)
	refused, said := errors.AsType[*client.Problem](err)
	switch {
	case errors.Is(err, client.ErrNoAnswer):
		s.add("api", NoAnswer, fmt.Sprintf("%s: %v", s.API.API, err), s.whereIsIt())
	case said && (refused.Status == http.StatusForbidden || refused.Status == http.StatusUnauthorized):
		s.add("api", NotAllowed, s.API.API+": "+refused.Error(), "it needs execute-api:Invoke: infra/policies has a policy for looking and one for acting")
	case err != nil:
		s.add("api", stateOf(err), fmt.Sprintf("%s: %v", s.API.API, err), "look at the console function's log")
	case s.Stack != nil && v.Version != s.Stack.Outputs["Version"]:
		s.add("api", Note, fmt.Sprintf("it is of version %s, and the stack says %s", v.Version, s.Stack.Outputs["Version"]), "a deploy may be under way: look again in a minute")
	default:
		s.add("api", OK, fmt.Sprintf("version %s; you are %s", v.Version, v.You), "")
	}
	return err == nil
}

func (s *System) whereIsIt() string {
	if s.Stack == nil {
		return "start it: engang local"
	}
	return "can this machine reach it? A name of your own needs its entry at the name server (output DomainTarget)"
}

// config reads what is live, and tells whether there is something.
func (s *System) config(ctx context.Context) bool {
	doc, err := s.API.Config(ctx)
	refused, said := errors.AsType[*client.Problem](err)
	switch {
	case said && refused.Status == http.StatusNotFound:
		s.add("config", Note, "nothing is applied yet", "engang init PROVIDER writes something to start from, engang apply makes it live")
	case said && refused.Status == http.StatusBadRequest:
		s.add("config", Unchecked, refused.Error(), "name one with --tenant and --environment")
	case err != nil:
		s.add("config", stateOf(err), err.Error(), "")
	default:
		s.read(doc)
		s.add("config", OK, fmt.Sprintf("%s/%s, revision %d: %s, %s", doc.Tenant, doc.Environment, doc.Revision, text.Count(len(doc.Endpoints), "endpoint", "endpoints"), text.Count(len(doc.Recipes), "recipe", "recipes")), "")
	}
	return err == nil
}

// stateOf tells a fault from what may be over in a moment.
func stateOf(err error) State {
	refused, said := errors.AsType[*client.Problem](err)
	if errors.Is(err, client.ErrNoAnswer) || said && (refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusGatewayTimeout) {
		return NoAnswer
	}
	return Fault
}

// read makes of what is live what was applied, as far as it is looked at here.
func (s *System) read(doc control.Config) {
	s.set = config.Set{Scope: object.Scope{Tenant: doc.Tenant, Environment: doc.Environment}, Common: doc.Common.Common, Recipes: doc.Recipes}
	for _, e := range doc.Endpoints {
		own := config.Endpoint{Name: e.Name, Provider: e.Provider, CatchUp: e.CatchUp, Events: map[string]config.EventRule{}}
		for _, ref := range e.Secrets {
			own.Secrets = append(own.Secrets, secrets.Ref(ref))
		}
		for event, rule := range e.Events {
			own.Events[event] = config.EventRule{Ignore: rule.Ignore}
		}
		s.set.Endpoints = append(s.set.Endpoints, own)
	}
	if s.Stack == nil {
		return
	}
	providers := maps.Clone(s.set.Common.Providers)
	for name, p := range providers {
		if p.BaseURL == "" {
			p.BaseURL = s.Stack.Parameters["ModelBaseUrl"]
			providers[name] = p
		}
	}
	s.set.Common.Providers = providers
}

func (s *System) secrets(ctx context.Context) {
	if s.Store == nil {
		s.unchecked("it is not known where the parameters are", "secrets")
		return
	}
	found, err := ask(ctx, s.Patience, func(ctx context.Context) (references.Findings, error) {
		return references.Check(ctx, s.Store, s.set, nil)
	})
	if err != nil {
		c := failed("secrets", "ssm:GetParameters below the stack's path, and kms:Decrypt", err)
		c.Text = "the parameter store: " + c.Text
		s.checks = append(s.checks, c)
		return
	}
	s.keys = found.Keys
	s.findings("secrets", found, Note)
	if len(found.Faults) == 0 {
		s.add("secrets", OK, "every reference leads to a secret of its provider's form", "")
	}
}

// findings tells faults, and what is worth a look.
func (s *System) findings(name string, found references.Findings, worth State) {
	for _, f := range found.Faults {
		s.add(name, Fault, f.At+": "+f.Reason, f.Remedy)
	}
	for _, f := range found.Warnings {
		s.add(name, worth, f.At+": "+f.Reason, f.Remedy)
	}
}

func (s *System) models(ctx context.Context) {
	if s.Stack == nil {
		s.add("models", Unchecked, "the local system has a model of its own, or the key where nobody else can read it", "")
		return
	}
	if len(s.set.Recipes) == 0 {
		s.add("models", OK, "no recipe asks one", "")
		return
	}
	if len(s.keys) == 0 {
		s.add("models", Unchecked, "there is no key to ask with", "")
		return
	}
	found := references.Models(ctx, s.HTTP, s.set, s.keys)
	for i, f := range found.Warnings {
		if strings.HasSuffix(f.Reason, references.KeyRefused) {
			found.Faults = append(found.Faults, config.Fault{At: f.At, Reason: "the provider does not take the key", Remedy: "put one of its keys: engang secret set models/NAME --replace"})
			found.Warnings[i].At = ""
		}
	}
	found.Warnings = slices.DeleteFunc(found.Warnings, func(f config.Fault) bool { return f.At == "" })
	s.findings("models", found, NoAnswer)
	if len(found.Faults)+len(found.Warnings) == 0 {
		s.add("models", OK, "every provider takes its key and knows its models", "")
	}
}

// webhooks asks the shops whose key is configured. Other senders have no list that could be asked for here.
func (s *System) webhooks(ctx context.Context) {
	var unknown []string
	asked := 0
	for _, e := range s.set.Endpoints {
		target, ok := config.Target{}, false
		if e.CatchUp != nil {
			target, ok = s.set.Common.Targets[e.CatchUp.Target]
		}
		if !ok || target.Kind != woocommerce.Kind || s.Store == nil {
			unknown = append(unknown, e.Name)
			continue
		}
		asked++
		s.shop(ctx, e, target)
	}
	if len(unknown) > 0 {
		s.add("webhooks", Note, "whether the sender still delivers is not known here: "+strings.Join(unknown, ", "), "look at its own list of webhooks; silent_after of an endpoint tells when nothing comes")
	}
	if asked == 0 && len(unknown) == 0 {
		s.add("webhooks", OK, "no endpoint is applied", "")
	}
}

// vault gives a shop's key to who asks the shop.
type vault struct{ store references.Store }

// Secret reads one secret.
func (v vault) Secret(ctx context.Context, ref secrets.Ref) (secrets.Value, error) {
	path, err := ref.Path()
	if err != nil {
		return secrets.Value{}, err
	}
	found, err := v.store.Parameters(ctx, []string{path})
	if err != nil {
		return secrets.Value{}, err
	}
	if found[path].IsEmpty() {
		return secrets.Value{}, secrets.ErrUnusable
	}
	return found[path], nil
}

func (s *System) shop(ctx context.Context, e config.Endpoint, target config.Target) {
	all, err := ask(ctx, s.Patience, func(ctx context.Context) ([]woocommerce.Webhook, error) {
		return woocommerce.New(s.HTTP, vault{s.Store}).Webhooks(ctx, target)
	})
	if err != nil {
		s.add("webhooks", NoAnswer, e.Name+": "+err.Error(), "")
		return
	}
	address := strings.TrimSuffix(s.API.Hooks, "/") + "/" + e.Name
	sound := true
	for _, event := range slices.Sorted(maps.Keys(e.Events)) {
		if e.Events[event].Ignore {
			continue
		}
		state := "missing"
		for _, w := range all {
			if w.Topic == event && w.DeliveryURL == address && state != "active" {
				state = w.Status
			}
		}
		if state != "active" {
			sound = false
			s.add("webhooks", Fault, fmt.Sprintf("%s: the shop's webhook for %s is %s", e.Name, event, text.Line(state)), "WooCommerce > Settings > Advanced > Webhooks: one with the status Active, the topic, and the delivery URL "+address)
		}
	}
	if sound {
		s.add("webhooks", OK, e.Name+": active in the shop", "")
	}
}

// beside is how many more functions of the account must be able to run than the workers take.
const beside = 5

// quotas looks how many functions the account runs at once: a new one may run ten, and the workers take some of them
// from the receiver, whose refusals no sender may repeat.
func (s *System) quotas(ctx context.Context) {
	var limits struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	status, err := ask(ctx, s.Patience, func(ctx context.Context) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Stack.Endpoint("lambda")+"2016-08-19/account-settings/", nil)
		if err != nil {
			return 0, err
		}
		if err := s.Stack.SignFor("lambda", r, nil); err != nil {
			return 0, err
		}
		answer, err := s.HTTP.Do(r)
		if e, ok := errors.AsType[*url.Error](err); ok {
			return 0, e.Err
		}
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.StatusCode, nil
		}
		return answer.StatusCode, json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&limits)
	})
	workers, _ := strconv.Atoi(s.Stack.Parameters["ModelConcurrency"])
	all, free := limits.AccountLimit.ConcurrentExecutions, limits.AccountLimit.UnreservedConcurrentExecutions
	says := fmt.Sprintf("the account runs %s at once, %d of them for all that has none reserved", text.Count(all, "function", "functions"), free)
	switch {
	case status == http.StatusForbidden:
		s.add("quotas", NotAllowed, "this identity may not look", "it needs lambda:GetAccountSettings")
	case err != nil:
		s.checks = append(s.checks, failed("quotas", "", err))
	case status != http.StatusOK || all == 0:
		s.add("quotas", NoAnswer, fmt.Sprintf("Lambda answers %d", status), "")
	case free < workers+beside:
		s.add("quotas", Fault, fmt.Sprintf("%s: the workers may take %d, and the receiver may find none free", says, workers), "ask AWS for more (quota L-B99A9384), or deploy with a smaller ModelConcurrency")
	default:
		s.add("quotas", OK, says, "")
	}
}
