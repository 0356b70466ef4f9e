package program

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/shared/secrets"
)

const usualOverlap = 24 * time.Hour

func (p *program) secretRotateCommand() *cobra.Command {
	var s secretActs
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Put a new secret beside the present one, and keep both valid",
		Long: givesSecret + "\n\nThe new secret goes into the next free slot: one that the endpoint names already and that is empty, else the lowest number that is free.\n" +
			"The endpoint takes every secret whose slot its configuration names, so a slot that is not named yet must be added to its secrets, the newest first, and applied; rotate says so.\n" +
			"Until when the former one is to be kept is written beside the secrets; retire refuses before.",
		Example: "  engang secret rotate woo-shop < new-secret.txt\n  engang secret rotate hooks/woo-shop/1 --overlap 72h < new-secret.txt",
		Args:    oneName,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.rotateSecret(cmd.Context(), args[0], s) },
	}
	cmd.Flags().DurationVar(&s.overlap, "overlap", usualOverlap, "how long the former secret is to be kept")
	return cmd
}

func (p *program) secretRetireCommand() *cobra.Command {
	var s secretActs
	cmd := &cobra.Command{
		Use:   "retire NAME",
		Short: "Remove a secret that another one has replaced",
		Long: "For an endpoint it is the former secret of its rotation. Refused while the overlap lasts, and for the only secret that an endpoint has in use.\n" +
			"What is signed with it is refused from then on; on a stack within five minutes.",
		Example: "  engang secret retire woo-shop\n  engang secret retire hooks/woo-shop/1 --early",
		Args:    oneName,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.retireSecret(cmd.Context(), args[0], s) },
	}
	cmd.Flags().BoolVar(&s.early, "early", false, "before the overlap ends: the secret has leaked, or its sender has the new one")
	return cmd
}

// A rotation says which secret follows which, and until when the former one is to be kept. It is written
// before the new secret is: one whose new slot is empty was not begun.
type rotation struct {
	New    string    `json:"new"`
	Former string    `json:"former"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// rotationPath is where that of a slot's folder stands: outside of what any function may read.
func rotationPath(slot string) string { return "rotations/" + folder(slot) }

// rotation reads that of a slot's folder; none is the zero one.
func (d *desk) rotation(ctx context.Context, slot string) (r rotation, err error) {
	at := rotationPath(slot)
	found, err := d.standing(ctx, at)
	if err != nil || found.IsEmpty() {
		return r, err
	}
	if err := json.Unmarshal(found.Reveal(), &r); err != nil {
		return r, fmt.Errorf("read %s: it is not what rotate has written: remove it", at)
	}
	return r, nil
}

func (p *program) rotateSecret(ctx context.Context, name string, s secretActs) error {
	if s.overlap < 0 {
		return usage("--overlap %s: a time that is not negative", s.overlap)
	}
	d, at, err := p.hookSlot(ctx, name)
	if err != nil {
		return err
	}
	if at.endpoint == nil {
		return &failure{exitNotFound, fmt.Errorf("no endpoint %s is applied: there is nothing to rotate", folder(at.path))}
	}
	scheme, err := at.scheme("")
	if err != nil {
		return err
	}
	if err := p.announce(ctx); err != nil {
		return err
	}
	value, err := p.readSecret(ctx)
	if err != nil {
		return err
	}
	r, begun, err := d.plan(ctx, at, strings.Contains(name, "/"), value)
	if err != nil {
		return err
	}
	fresh := slot{r.New, at.endpoint}
	doc := secretDoc{Kind: "secret", Act: "rotate", Name: r.New, Live: fresh.live(), Former: r.Former, Next: []string{}}
	doc.describe(fresh, scheme)
	if !begun {
		if err := d.check(ctx, fresh, scheme, value); err != nil {
			return err
		}
		r.Since = p.Now().UTC().Truncate(time.Second)
		r.Until = r.Since.Add(s.overlap)
		if err := d.begin(ctx, r, value); err != nil {
			return err
		}
		doc.Changed = true
	}
	doc.KeepUntil = &r.Until
	if !doc.Live {
		doc.Next = append(doc.Next, "name the slot in the configuration; until that is applied it is not used. "+at.naming(r.New), p.suggest("apply FILE"))
	}
	doc.Next = append(doc.Next, "give the new secret to the sender", p.suggest("secret retire "+at.endpoint.Name))
	return p.tellSecret(doc)
}

// hookSlot finds a NAME that must be of an endpoint.
func (p *program) hookSlot(ctx context.Context, name string) (*desk, slot, error) {
	d, at, err := p.openSlot(ctx, name)
	if err == nil && !strings.HasPrefix(at.path, "hooks/") {
		err = usage("only the secrets of endpoints are rotated and retired: of others one at a time is in use, and %s puts a new one in its place", p.suggest("secret set "+at.path+" --replace"))
	}
	return d, at, err
}

// naming is how the configuration names a slot before those that it names already.
func (s slot) naming(path string) string {
	order := append([]string{"ssm:" + path}, s.endpoint.Secrets...)
	return fmt.Sprintf("Endpoint %s: secrets: [%s]", s.endpoint.Name, strings.Join(order, ", "))
}

// maxSecrets is how many an endpoint may have in use: more would be forgotten there.
const maxSecrets = 3

// plan says which slot the new secret goes to, and which one it replaces: the one that was named, or the
// only one that is in use. It tells true when the very rotation has begun before.
func (d *desk) plan(ctx context.Context, at slot, named bool, value secrets.Value) (rotation, bool, error) {
	refuse := func(format string, args ...any) (rotation, bool, error) {
		return rotation{}, false, &failure{exitState, fmt.Errorf("endpoint "+at.endpoint.Name+" "+format, args...)}
	}
	r, err := d.rotation(ctx, at.path)
	if err != nil {
		return r, false, err
	}
	if same(d.held[r.New], value) {
		return r, true, nil
	}
	held := d.inUse(at)
	switch {
	case len(held) == 0:
		return refuse("has no secret yet: %s", d.p.suggest("secret set "+at.endpoint.Name))
	case r.New != "" && !d.held[r.New].IsEmpty() && !d.held[r.Former].IsEmpty():
		return refuse("rotates already, from %s to %s: retire %s first", r.Former, r.New, r.Former)
	case len(held) >= maxSecrets:
		return refuse("has %d secrets already, %s: retire one first", len(held), strings.Join(held, ", "))
	case len(held) > 1 && !named:
		return refuse("has %d secrets: name the one that is replaced, %s", len(held), strings.Join(held, " or "))
	case named && !slices.Contains(held, at.path):
		return refuse("has no secret in %s: in use is %s", at.path, strings.Join(held, ", "))
	}
	former := held[0]
	if named {
		former = at.path
	}
	return rotation{New: d.freeSlot(at), Former: former}, false, nil
}

// named are the paths that the endpoint names, in its order.
func (s slot) named() []string {
	var paths []string
	for _, ref := range s.endpoint.Secrets {
		if path, err := secrets.Ref(ref).Path(); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// inUse are the slots that the endpoint names and that hold a secret.
func (d *desk) inUse(at slot) []string {
	return slices.DeleteFunc(at.named(), func(path string) bool { return len(strings.TrimSpace(string(d.held[path].Reveal()))) == 0 })
}

var numbered = regexp.MustCompile(`/[0-9]+$`)

// freeSlot is a named slot that is empty, or else the lowest number that is free.
func (d *desk) freeSlot(at slot) string {
	named := at.named()
	for _, path := range named {
		if d.held[path].IsEmpty() {
			return path
		}
	}
	folder := named[0]
	if numbered.MatchString(folder) {
		folder = path.Dir(folder)
	}
	for n := 1; ; n++ {
		if free := folder + "/" + strconv.Itoa(n); d.held[free].IsEmpty() {
			return free
		}
	}
}

// begin writes the rotation and then the secret. After a crash between the two the rotation is begun anew.
func (d *desk) begin(ctx context.Context, r rotation, value secrets.Value) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write rotation: %w", err)
	}
	if err := d.put(ctx, rotationPath(r.New), secrets.NewValue(string(raw)), true); err != nil {
		return err
	}
	return d.put(ctx, r.New, value, false)
}

func (p *program) retireSecret(ctx context.Context, name string, s secretActs) error {
	d, at, err := p.hookSlot(ctx, name)
	if err != nil {
		return err
	}
	r, err := d.rotation(ctx, at.path)
	if err != nil {
		return err
	}
	if !strings.Contains(name, "/") {
		if r.Former == "" {
			return &failure{exitState, fmt.Errorf("no rotation of %s is under way: name the secret, one of %s", name, strings.Join(at.named(), ", "))}
		}
		at.path = r.Former
	}
	if err := d.mayRetire(at, r, s.early); err != nil {
		return err
	}
	if err := p.announce(ctx); err != nil {
		return err
	}
	doc := secretDoc{Kind: "secret", Act: "retire", Name: at.path, Live: at.live(), Next: []string{}}
	doc.describe(at, nil)
	if at.endpoint != nil {
		doc.Provider = at.endpoint.Provider
	}
	if doc.Changed, err = d.remove(ctx, at.path); err != nil {
		return err
	}
	if at.path == r.Former || at.path == r.New { // a crash before this leaves a rotation without one of its slots, which counts as none
		if _, err := d.remove(ctx, rotationPath(at.path)); err != nil {
			return err
		}
	}
	if doc.Live {
		left := slices.DeleteFunc(slices.Clone(at.endpoint.Secrets), func(ref string) bool { return ref == "ssm:"+at.path })
		doc.Next = append(doc.Next, fmt.Sprintf("take the slot out of the configuration, and apply. Endpoint %s: secrets: [%s]", at.endpoint.Name, strings.Join(left, ", ")))
	}
	return p.tellSecret(doc)
}

// mayRetire refuses what would leave an endpoint without a secret, and what is too early.
func (d *desk) mayRetire(at slot, r rotation, early bool) error {
	switch {
	case d.held[at.path].IsEmpty():
		return nil
	case at.endpoint == nil && !early:
		return &failure{exitState, fmt.Errorf("no endpoint %s is applied, so that nobody can tell who uses %s: name the endpoint, or remove it with --early", folder(at.path), at.path)}
	case !at.live():
		return nil
	}
	others := slices.DeleteFunc(d.inUse(at), func(path string) bool { return path == at.path })
	unnamed := at.path == r.Former && !d.held[r.New].IsEmpty() && !slices.Contains(at.named(), r.New)
	switch {
	case unnamed && (len(others) == 0 || !early):
		return &failure{exitState, fmt.Errorf("the new secret, in %s, is not in use yet: what is signed with it is refused. First name its slot in the configuration (%s) and apply that (%s); then give this command again",
			r.New, at.naming(r.New), d.p.suggest("apply FILE"))}
	case len(others) == 0:
		return &failure{exitState, fmt.Errorf("%s is the only secret that endpoint %s has: every delivery would be answered with 503", at.path, at.endpoint.Name)}
	case at.path == r.Former && d.p.Now().Before(r.Until) && !early:
		return &failure{exitState, fmt.Errorf("%s is to be kept until %s; --early removes it now", at.path, d.p.clock().Second(&r.Until))}
	}
	return nil
}

func (d *desk) remove(ctx context.Context, path string) (bool, error) {
	was, err := within(ctx, d.p, func(ctx context.Context) (bool, error) { return d.vault.store.Remove(ctx, path) })
	if err != nil {
		return was, err
	}
	return was, d.vault.read(ctx)
}
