package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/secrets"
)

type sending struct {
	endpoint, typ, twist, secretFile string
	set                              []string
	repeat, parallel                 int
	wait, curl                       bool
}

// usualEndpoints are those of infra/local.yaml, by provider. Others are called as init calls them: as their
// provider.
var usualEndpoints = map[string]string{"woocommerce": "woo-shop", "standard-webhooks": "crm"}

func (p *program) sendCommand() *cobra.Command {
	var s sending
	cmd := &cobra.Command{
		Use:   "send [CASE|FILE]",
		Short: "Sign a payload as its sender does, and deliver it",
		Long: "CASE is what a sender sends: " + strings.Join(delivery.Cases(), ", ") + "; without one, " + delivery.Usual + ". The same command, given again, delivers the same event; --set makes another one.\n" +
			"FILE is a bare body, a payload as they stand under events/, or a case of your own. The exit code is 0 when every delivery was answered with 200.",
		Example: "  engang send\n  engang send woocommerce/product.updated --set /id=900 --repeat 50 --parallel 50 --json\n  engang send stripe/invoice.paid --endpoint shop-pay\n  engang send standard-webhooks/contact.created --twist stale\n  engang send body.json --endpoint woo-shop --type product.updated --wait\n  engang send --curl\n  engang send --endpoint woo-shop --secret-file secret.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("send takes one case or file")
			}
			if s.repeat < 1 || s.repeat > maxRepeat || s.parallel < 1 || s.parallel > maxParallel {
				return usage("--repeat is from 1 to %d, --parallel from 1 to %d", maxRepeat, maxParallel)
			}
			if s.curl && p.json {
				return usage("--curl prints a command for a shell: not with --json")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.send(cmd.Context(), args, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.endpoint, "endpoint", "", "to which endpoint (default: that of infra/local.yaml, or one named as the provider)")
	f.StringVar(&s.typ, "type", "", "event type, for a file that does not say it")
	f.StringArrayVar(&s.set, "set", nil, "change the body: /path=value, JSON or text; may be repeated")
	f.IntVar(&s.repeat, "repeat", 1, "deliver it so often")
	f.IntVar(&s.parallel, "parallel", 1, "so many at once")
	f.StringVar(&s.twist, "twist", "", "spoil it: "+strings.Join(delivery.Twists(), ", "))
	f.BoolVar(&s.wait, "wait", false, "wait until its work is over")
	f.BoolVar(&s.curl, "curl", false, "print the command that would send it, and send nothing")
	f.StringVar(&s.secretFile, "secret-file", "", "sign with the secret in this file")
	return cmd
}

func (p *program) send(ctx context.Context, args []string, s sending) error {
	maker, c, endpoint, err := p.prepare(ctx, args, s)
	if err != nil {
		return err
	}
	if s.curl {
		req, err := maker.Make(p.Now())
		if err != nil {
			return err
		}
		address := c.Hooks + "/" + endpoint
		if query := delivery.Query(req); query != "" {
			address += "?" + query
		}
		_, err = fmt.Fprint(p.Stdout, delivery.Curl(req, address)) // it holds nothing that would be made visible on the way
		return err
	}
	if err := p.announce(ctx); err != nil {
		return err
	}
	all := &tally{sum: summary{Kind: "deliveries", Endpoint: endpoint, Provider: maker.Scheme.Name(), Answers: map[string]int{}, Statuses: map[string]int{}, Events: []string{}}, untyped: maker.Draft.Untyped(maker.Scheme.Name())}
	if err := p.deliverAll(ctx, c, maker, all, s); err != nil {
		return err
	}
	sum := &all.sum
	if s.wait {
		if err := p.await(ctx, c, sum); err != nil {
			return err
		}
	}
	if p.json {
		err = p.writeJSON(sum)
	} else {
		err = p.writeSummary(*sum)
	}
	return errors.Join(err, all.failure(s.repeat))
}

// prepare loads, changes and signs: everything but sending.
func (p *program) prepare(ctx context.Context, args []string, s sending) (*delivery.Maker, *client.Client, string, error) {
	draft, err := delivery.Load(strings.Join(append(args, delivery.Usual)[:1], ""))
	if err != nil {
		return nil, nil, "", err
	}
	for _, assignment := range s.set {
		if draft.Body, err = delivery.Set(draft.Body, assignment); err != nil {
			return nil, nil, "", err
		}
	}
	endpoint := s.endpoint
	if endpoint == "" {
		if endpoint = cmp.Or(usualEndpoints[draft.Provider], draft.Provider); endpoint == "" {
			return nil, nil, "", usage("the file does not say who sends it: name the endpoint with --endpoint")
		}
	}
	c, err := p.connect(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	doc, err := c.Endpoint(ctx, endpoint)
	if err != nil {
		return nil, nil, "", p.explain(fmt.Errorf("endpoint %s: %w", endpoint, err))
	}
	if draft.Provider != "" && draft.Provider != doc.Provider {
		return nil, nil, "", usage("endpoint %s takes deliveries of %s, and this is one of %s", endpoint, doc.Provider, draft.Provider)
	}
	scheme, err := delivery.Scheme(doc)
	if err != nil {
		return nil, nil, "", usage("endpoint %s cannot be signed for by this version: %w", endpoint, err)
	}
	if c.Tenant == "" && c.Environ == "" { // what becomes of the delivery is asked for there
		c.Tenant, c.Environ = doc.Tenant, doc.Environment
	}
	draft.Source(doc.Provider, doc.Source)
	if s.typ != "" {
		draft.Type(doc.Provider, s.typ)
	}
	secret, err := p.secret(ctx, c, doc, s.secretFile)
	if err != nil {
		return nil, nil, "", err
	}
	maker, err := delivery.NewMaker(delivery.Maker{Scheme: scheme, Secret: secret, Draft: draft, URL: doc.PublicURL, Twist: s.twist})
	return maker, c, endpoint, err
}

// secret finds what an endpoint's deliveries are signed with: a file, or the first of its secrets that
// stands in the target's parameter store, under the operator's own rights.
func (p *program) secret(ctx context.Context, c *client.Client, e control.Endpoint, file string) (secrets.Value, error) {
	if file != "" {
		return secretFile(file)
	}
	if len(e.Secrets) == 0 {
		return secrets.Value{}, fmt.Errorf("endpoint %s has no secret", e.Name)
	}
	var paths []string
	for _, ref := range e.Secrets {
		path, err := secrets.Ref(ref).Path()
		if err != nil {
			return secrets.Value{}, err
		}
		paths = append(paths, path)
	}
	v, err := p.openVault(ctx, c)
	if err != nil {
		return secrets.Value{}, err
	}
	found, err := within(ctx, p, func(ctx context.Context) (map[string]secrets.Value, error) { return v.store.Parameters(ctx, paths) })
	if err != nil {
		return secrets.Value{}, fmt.Errorf("read the secret of %s (or name a file with --secret-file): %w", e.Name, err)
	}
	for _, path := range paths {
		if value, ok := found[path]; ok {
			return value, nil
		}
	}
	return secrets.Value{}, &failure{exitNotFound, fmt.Errorf("no secret of endpoint %s is in the parameter store: %s", e.Name, strings.Join(paths, ", "))}
}

// secretFile reads a secret without the line end that editors put there.
func secretFile(name string) (secrets.Value, error) {
	raw, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return secrets.Value{}, usage("--secret-file: %w", err)
	}
	value := secrets.NewValue(strings.TrimRight(string(raw), "\r\n"))
	if value.IsEmpty() {
		return value, usage("--secret-file: there is nothing in the file")
	}
	return value, nil
}

// await waits until every event is settled or parked.
func (p *program) await(ctx context.Context, c *client.Client, s *summary) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	for _, id := range s.Events {
		for {
			doc, err := c.Show(ctx, client.Filter{"id": id})
			if err != nil {
				return p.explain(err)
			}
			if e := doc.Event; e.State != "received" {
				s.Final = append(s.Final, final{e.ID, e.State, e.Outcome, e.Reason})
				break
			}
			select {
			case <-ctx.Done():
				return &failure{exitNoAnswer, fmt.Errorf("event %s is still in work after %s; look later: %s", id, p.timeout, p.suggest("show "+id))}
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return nil
}

func (p *program) writeSummary(s summary) error {
	fmt.Fprintf(p.Stdout, "%s to %s in %s\n", text.Count(s.Sent, "delivery", "deliveries"), s.Endpoint, text.Duration(s.took))
	var rows [][]string
	for _, answer := range slices.Sorted(maps.Keys(s.Answers)) {
		rows = append(rows, []string{answer, strconv.Itoa(s.Answers[answer])})
	}
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		if status == noStatus {
			continue // the row of the answers says it
		}
		rows = append(rows, []string{"status " + status, strconv.Itoa(s.Statuses[status])})
	}
	for _, f := range s.Final {
		rows = append(rows, []string{f.Event, strings.TrimSuffix(f.State+", "+f.Outcome, ", ") + strings.TrimSuffix(": "+f.Reason, ": ")})
	}
	if err := text.Columns(p.Stdout, "  ", rows); err != nil {
		return err
	}
	if len(s.Events) == 1 {
		fmt.Fprintf(p.Stdout, "\n  %s\n", p.suggest("show "+s.Events[0]))
	}
	return nil
}
