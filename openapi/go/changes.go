package identity

import (
	"regexp"
	"sort"
	"strings"
	"time"
)

// control is the state of a DID in a log of ours after an entry, except the keys that sign it.
type control struct {
	number  int
	working *working
	// recoveryKey is empty if there is none.
	recoveryKey                 string
	strictGrace, strictEvidence bool
	// unbound are the changes whose evidence is not bound to what their entries state.
	unbound        int
	recoveryWindow time.Duration
	// retired are the keys that are gone: none of them may come back.
	retired map[string]bool
	// challenges are those that could still be offered again, with their ends.
	challenges map[string]time.Time
	// proves is true if BBS keys need proofs of possession from here on.
	proves bool
	past   []pastVersion
}

type pastVersion struct {
	number  int
	until   time.Time
	working *working
}

const (
	mostOperations   = 50
	mostNewBBSKeys   = 3
	possessionOctets = 80
	usualWindow      = 72 * 3600
	longestWindow    = 30 * 86_400
	birthMembers     = "recoveryKey recoveryWindow strictEvidence strictGrace"
)

var (
	wholeSeconds = regexp.MustCompile(`^` + timePattern + `Z$`)
	// Members of a change besides its operation.
	changeMembers = map[string]string{
		"create": birthMembers, "update": "authorization operations strictEvidence", "keyRotated": "authorization newKey oldKeyId revokeAt",
		"recovered":   "authorization newKey recoveryKey restoreVersion revokeAll",
		"deactivated": "authorization", "logKeyRetired": "retired",
	}
)

// changed is the state of the log after an entry.
func changed(previous, after *state, change object) *control {
	var before *control
	if previous != nil {
		before = previous.control
	}
	operation := text(change["operation"])
	known := append(strings.Fields(changeMembers[operation]), "operation", "proofBy", "possession")
	demand(members(change, known...) == "", "the change has a member that its operation has not")
	demand((operation == "create") == (before == nil), "a first entry creates, and no other does")
	ends, says := after.parameters["deactivated"], has(after.parameters, "deactivated")
	demand(says == (operation == "deactivated") && (!says || ends == true), "an entry ends the DID, or says so, alone")
	var made *control
	if before == nil {
		made = born(after, change)
	} else {
		made = before.followed(after, change, operation)
	}
	if operation != "deactivated" {
		made.working.check(after.did)
	}
	isMade := same(made.working.json(after.did), after.document)
	demand(isMade, "the document is not what the change makes of the one before")
	made.checkPossession(before, change, after.proofs[0])
	return made
}

// checkPossession: whether BBS keys come with proofs of possession from here on; one that joins then has a proof beside it, whose pairing is
// not computed here.
func (c *control) checkPossession(before *control, change, proof object) {
	begins, proved := has(change, "possession"), before != nil && before.proves
	demand(!begins || (change["possession"] == true && !proved), "an entry begins to ask for proofs of possession, once")
	c.proves = begins || proved
	offered := object{}
	if has(proof, "possession") {
		offered = record(proof["possession"])
	}
	if !c.proves {
		demand(len(offered) == 0, "proofs of possession are asked for from one entry on, and not before")
		return
	}
	known := &working{}
	if before != nil {
		known = before.working
		if version, is := integer(change["restoreVersion"], 1, 1<<31-1); is {
			for _, one := range before.past {
				if one.number == int(version) {
					known = one.working
				}
			}
		}
	}
	var fresh []string
	for _, one := range c.working.methods {
		if one.kind == bbsKey && !known.has(one.key) {
			fresh = append(fresh, one.key)
		}
	}
	sort.Strings(fresh)
	isOffered := len(fresh) <= mostNewBBSKeys && strings.Join(fresh, ",") == members(offered)
	demand(isOffered, "a BBS key that joins has a proof of possession")
	for _, each := range offered {
		demand(len(base64urlDecode(text(each))) == possessionOctets, "a proof of possession has 80 octets")
	}
}

func born(after *state, change object) *control {
	// What is as it was before there was a choice is not said.
	isPlain := !has(change, "strictGrace") || change["strictGrace"] == false
	isPlain = isPlain && (!has(change, "strictEvidence") || change["strictEvidence"] == true)
	window, isWindow := int64(usualWindow), true
	if has(change, "recoveryWindow") {
		window, isWindow = integer(change["recoveryWindow"], 0, longestWindow)
		isWindow = isWindow && window != usualWindow
	}
	demand(isPlain && isWindow, "the first entry says the rules of its log in another form")
	made := &control{
		number: 1, working: readWorking(after.document, after.did), strictGrace: !has(change, "strictGrace"),
		strictEvidence: change["strictEvidence"] == true, recoveryWindow: time.Duration(window) * time.Second,
	}
	made.working.checkControlled()
	if has(change, "recoveryKey") {
		made.recoveryKey = text(change["recoveryKey"])
		isKey := isPublicKey(made.recoveryKey) && !made.working.has(made.recoveryKey)
		demand(isKey, "the recovery key is none, or in the document")
	}
	return made
}

func (c *control) followed(after *state, change object, operation string) *control {
	at := after.time
	made := *c
	made.number, made.retired, made.challenges, made.past = after.number, map[string]bool{}, map[string]time.Time{}, nil
	made.retire(keysOf(c.retired)...)
	for challenge, end := range c.challenges {
		if end.After(at) {
			made.challenges[challenge] = end
		}
	}
	for _, one := range c.past {
		if at.Sub(one.until) <= c.recoveryWindow {
			made.past = append(made.past, one)
		}
	}
	made.past = append(made.past, pastVersion{c.number, at, c.working})
	due, isDue := c.working.due()
	if operation == "keyExpired" {
		demand(isDue && due.Equal(at), "no grace period ends at this time")
		made.working = c.working.without(func(one method) bool { return one.revoked != "" && instantOf(one.revoked).Equal(at) })
		made.retireGone(c)
		return &made
	}
	demand(!isDue || due.After(at), "a grace period has ended, and its version is missing")
	if operation == "logKeyRotated" || operation == "logKeyRetired" {
		made.past = c.past
		return &made
	}
	begins := operation == "update" && has(change, "strictEvidence")
	demand(!begins || (change["strictEvidence"] == true && !c.strictEvidence), "strictEvidence begins once, and is never turned off")
	made.strictEvidence = c.strictEvidence || begins
	var shown evidence
	meeting("controller", func() { shown = c.authorised(after, change, operation, made.strictEvidence) })
	if !shown.isBound {
		made.unbound++
	}
	made.challenges[shown.challenge] = shown.end
	switch operation {
	case "update":
		made.working = c.updated(change, shown.asked, after.did)
	case "keyRotated":
		made.working = c.rotated(change, after)
	case "recovered":
		made.working, made.recoveryKey = c.recovered(change, after)
		for _, one := range made.working.methods {
			delete(made.retired, one.key)
		}
	default:
		made.working, made.recoveryKey = &working{}, ""
	}
	made.working.list(after.document)
	made.retireGone(c)
	return &made
}

func (c *control) updated(change, asked object, did string) *working {
	steps, made := list(stepsOf(change, asked)), c.working.copy()
	demand(len(steps) > 0 && len(steps) <= mostOperations, "an update has no operations, or too many")
	isNew := func(key string) bool { return !made.has(key) && c.isNew(key) }
	begins := false
	for _, step := range steps {
		made.apply(record(step), did, isNew, asked != nil)
		begins = begins || record(step)["operation"] == "setStrictEvidence"
	}
	demand(begins == has(change, "strictEvidence"), "an entry begins strictEvidence where its body asks for that, and says so")
	made.checkControlled()
	return made
}

func (c *control) rotated(change object, after *state) *working {
	made := c.working.copy()
	key, old := keyOf(change["newKey"]), made.method(text(change["oldKeyId"]))
	multibase, said := text(key["publicKeyMultibase"]), texts(key["purposes"])
	demand(old.revoked == "" && c.isNew(multibase), "the key was rotated already, or its successor is not new")
	if len(said) == 0 {
		said = made.purposes(old.id)
	}
	made.add(after.did, text(key["type"]), multibase, said, old.id)
	end := ""
	if has(change, "revokeAt") {
		end = text(change["revokeAt"])
		demand(wholeSeconds.MatchString(end), "the end of a grace period has another form")
	}
	if end == "" || !instantOf(end).After(after.time) {
		made.remove(old.id)
	} else {
		made.method(old.id).revoked = end
	}
	made.checkControlled()
	return made
}

func (c *control) recovered(change object, after *state) (*working, string) {
	key, successor := keyOf(change["newKey"]), text(change["recoveryKey"])
	all, isFlag := change["revokeAll"].(bool)
	demand(isFlag && isPublicKey(successor), "a recovery is malformed")
	start := c.working
	if version, is := integer(change["restoreVersion"], 1, 1<<31-1); has(change, "restoreVersion") && (!is || int(version) != c.number) {
		start = nil
		for _, one := range c.past {
			if is && one.number == int(version) && after.time.Sub(one.until) <= c.recoveryWindow {
				start = one.working.without(func(one method) bool { return one.revoked != "" && !instantOf(one.revoked).After(after.time) })
			}
		}
		demand(start != nil, "the version that is restored is out of reach")
	}
	multibase := text(key["publicKeyMultibase"])
	isNew := c.isNew(multibase) && c.isNew(successor) && multibase != successor
	demand(isNew, "a key of the recovery is not new")
	made := start.without(func(method) bool { return all })
	made.add(after.did, text(key["type"]), multibase, texts(key["purposes"]), "")
	made.checkControlled()
	return made, successor
}

// isNew reports whether a key is not, and was not, a key of this DID.
func (c *control) isNew(key string) bool {
	return !c.working.has(key) && key != c.recoveryKey && !c.retired[key]
}

func (c *control) retire(keys ...string) {
	for _, key := range keys {
		c.retired[key] = true
	}
}

// retireGone retires what was there before and is there no more.
func (c *control) retireGone(before *control) {
	for _, one := range before.working.methods {
		if !c.working.has(one.key) {
			c.retire(one.key)
		}
	}
	if before.recoveryKey != "" && before.recoveryKey != c.recoveryKey {
		c.retire(before.recoveryKey)
	}
}

// keyOf is the key that a change brings, with nothing else.
func keyOf(value any) object {
	key := record(value)
	demand(members(key) == "publicKeyMultibase,purposes,type", "a key has other members")
	return key
}

func keysOf(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}
