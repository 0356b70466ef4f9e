package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/recipe"
)

// How long things are kept, in days; the shorter ones where a history lasts that long.
const (
	eventDays       = 30
	resultDays      = 400
	shortEventDays  = 1
	shortResultDays = 2
	storm           = 10 * time.Minute
)

// expiring throws the times, days later, at which senders and people are at it again, with faults: what came before comes
// again, something new comes, and what is expired leaves in between.
func (d dice) expiring(s *scene, contents int) {
	s.expires = true
	if d.chance(500, "drafts that wait for days", 0) {
		s.policies["card"] = recipe.PolicyDraft
	}
	objects := len(s.objects())
	for n := range 1 + d.below(3, "storms", 0) {
		at := d.between(20*time.Hour, 110*time.Hour, "storm at", n)
		s.storms = append(s.storms, at)
		during := func(what string) time.Duration { return at + d.between(0, storm-2*time.Minute, what, n) }
		for i := range s.deliveries {
			if one := &s.deliveries[i]; d.chance(500, "storm repeats "+one.name, n) {
				one.times = append(one.times, during(one.name+" in a storm"))
			}
		}
		for i := range d.below(3, "new in storm", n) {
			o := 1 + d.below(objects, "object in storm", 10*n+i)
			one := d.delivery(o, version{
				name: fmt.Sprintf("%d.day.%d.%d", o, n+1, i+1), at: noon.Add(at + d.between(-100*time.Hour, 0, "version in storm", 10*n+i)).Truncate(time.Second), nth: 20 + 10*n + i, among: contents, bulky: s.bulky,
			})
			one.times = []time.Duration{during(one.name)}
			s.deliveries = append(s.deliveries, one)
		}
		for i := range d.below(7, "acts in storm", n) {
			s.acts = append(s.acts, during(fmt.Sprintf("act %d in storm", i)))
		}
		for i := range 4 {
			s.passes = append(s.passes, during(fmt.Sprintf("pass %d in storm", i)))
		}
	}
	for n := range 4 {
		s.passes = append(s.passes, d.between(24*time.Hour, 120*time.Hour, "pass", n))
	}
}

// objects are the products that senders report of.
func (s scene) objects() (all []string) {
	for _, d := range s.deliveries {
		if strings.HasPrefix(d.object, "product:") && !slices.Contains(all, d.object) {
			all = append(all, d.object)
		}
	}
	return all
}

// planExpiry has expired items leave, some at each pass.
func (w *world) planExpiry() {
	for n, t := range w.scene.passes {
		if name := fmt.Sprintf("pass %d of TTL", n+1); w.happens(name) {
			w.at(t, name, func() {
				if err := w.expire(n); err != nil {
					w.violated("TTL: %v", err)
				}
			})
		}
	}
	for _, t := range w.scene.storms {
		w.at(t+storm, "calm again", func() {
			w.resumeAll()
			if _, err := w.look(false); err != nil {
				w.violated("look at the table: %v", err)
			}
		})
	}
}

// storming tells whether it is one of the later times with faults.
func (s scene) storming(at time.Duration) bool {
	return slices.ContainsFunc(s.storms, func(from time.Duration) bool { return at >= from && at < from+storm })
}

// expire removes some of what is expired, as the store does: at any time after it.
func (w *world) expire(pass int) error {
	all, err := invariants.Scan(w.ctx, w.db, w.tableName)
	if err != nil {
		return err
	}
	for _, i := range all {
		key := i["pk"] + " " + i["sk"]
		if at, expires := w.expiry(i); !expires || noon.Add(w.clock).Before(at) || !w.dice.chance(400, "leaves "+key, pass) {
			continue
		}
		if !final(i) {
			w.violated("durable-ack: %s is %s, and leaves by TTL", short(key), i["st"])
		}
		_, err := w.db.DeleteItem(w.ctx, &dynamodb.DeleteItemInput{TableName: aws.String(w.tableName), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: i["pk"]}, "sk": &types.AttributeValueMemberS{Value: i["sk"]},
		}})
		if err != nil {
			return fmt.Errorf("remove %s: %w", short(key), err)
		}
		w.note(nil, "TTL removes "+short(key), i["st"])
		w.counts.Expired++
		w.departs(key, i)
	}
	return nil
}

// expiry is when an item is expired; false where it never is.
func (w *world) expiry(i invariants.Item) (time.Time, bool) {
	n, err := strconv.ParseInt(i["expires_at"], 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	at := time.Unix(n, 0)
	switch {
	case w.Early && i["sk"] == "EVENT":
		at = at.AddDate(0, 0, shortEventDays-eventDays)
	case w.Early && strings.HasPrefix(i["pk"], "B#"):
		at = at.AddDate(0, 0, shortResultDays-resultDays)
	}
	return at, true
}

// final tells whether nothing is to be done any more about an item.
func final(i invariants.Item) bool {
	switch i["st"] {
	case "received", "pending", "running", "review", "rejected":
		return false
	case "parked":
		return i["dec"] != ""
	case "failed":
		return i["dec"] != "" || i["cat"] == "cancelled"
	}
	return true
}
