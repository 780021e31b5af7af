package identity

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// webvhState is what a log of did:webvh 1.0 (https://identity.foundation/didwebvh/v1.0/) contains beyond every other log.
type webvhState struct {
	scid      string
	portable  bool
	witnesses *witnesses
}

// witnesses: threshold of keys must approve.
type witnesses struct {
	threshold int
	keys      []string
}

const (
	webvhVersion   = "did:webvh:1.0"
	mostLineOctets = 256 << 10
	label          = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
)

var (
	webvhDID  = regexp.MustCompile(`^did:webvh:(` + hashPattern + `):([^:]+)((?::(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})+)*)$`)
	webvhHost = regexp.MustCompile(`^(?:` + label + `\.)+(` + label + `)(?:%3A[1-9][0-9]{1,4})?$`)
	// An address has a number for its last label (WHATWG URL, "ends in a number"), and no domain does.
	numeric       = regexp.MustCompile(`^(?:0[xX][0-9A-Fa-f]*|[0-9]+)$`)
	webvhDefaults = object{
		"updateKeys": []any{}, "nextKeyHashes": []any{}, "witness": object{}, "watchers": []any{}, "portable": false, "deactivated": false,
		"ttl": nil,
	}
)

// nextWebvh is the state after an entry of a log of did:webvh.
func nextWebvh(before *state, line string) *state {
	after := &state{webvh: &webvhState{}}
	var inForce object
	meeting("form", func() {
		demand(len(line) <= mostLineOctets, "the entry is too large")
		after.entry = readEntry(parseUnique([]byte(line)))
		inForce = after.readParameters(before)
	})
	meeting("order", func() { checkOrder(before, after.entry) })
	if before == nil {
		meeting("identifier", func() { after.webvh.scid = text(inForce["scid"]) })
		meeting("hash", func() { after.checkFirstHash(after.webvh.scid) })
	} else {
		meeting("hash", func() { after.checkNextHash(before.versionID) })
	}
	meeting("identifier", func() { after.readDID(before) })
	var signers []string
	meeting("keys", func() {
		after.updateKeys, after.nextKeyHashes = texts(inForce["updateKeys"]), texts(inForce["nextKeyHashes"])
		signers = after.signers(before)
	})
	meeting("signature", func() {
		for _, proof := range after.proofs {
			checkProof(proof, after.body, signers)
		}
	})
	if has(after.parameters, "witness") {
		meeting("form", func() { after.webvh.witnesses = readWitnesses(record(inForce["witness"])) })
	}
	return after
}

// readParameters: those of the entry over those before over the defaults ("DID Method Parameters").
func (s *state) readParameters(before *state) object {
	said, inForce := s.parameters, object{}
	for name, value := range webvhDefaults {
		inForce[name] = value
	}
	if before != nil {
		*s.webvh = *before.webvh
		inForce["updateKeys"], inForce["nextKeyHashes"] = anyOf(before.updateKeys), anyOf(before.nextKeyHashes)
		inForce["portable"] = before.webvh.portable
	}
	for name, value := range said {
		if value == nil {
			value = webvhDefaults[name]
		}
		inForce[name] = value
	}
	if method, says := inForce["method"]; (says || before == nil) && method != webvhVersion {
		panic(unmet{"method", "the log is of another version of did:webvh"})
	}
	for name := range said {
		demand(has(webvhDefaults, name) || name == "method" || name == "scid", "a parameter is unknown")
	}
	demand(has(said, "scid") == (before == nil), "the first entry has an scid, and no other has")
	demand(before != nil || has(said, "updateKeys"), "the first entry names no updateKeys")
	texts(inForce["watchers"])
	var isPortable, isEnd bool
	s.webvh.portable, isPortable = inForce["portable"].(bool)
	s.deactivated, isEnd = inForce["deactivated"].(bool)
	demand(isPortable && isEnd, "portable or deactivated is neither true nor false")
	_, isSeconds := integer(inForce["ttl"], 0, 1<<31)
	demand(isSeconds || inForce["ttl"] == nil, "ttl is not a number of seconds")
	demand(before == nil || said["portable"] != true || before.webvh.portable, "a DID is portable from the start or never")
	return inForce
}

// signers are the keys before the entry; with pre-rotation its own, to which the entry before has committed.
func (s *state) signers(before *state) []string {
	signers := s.updateKeys
	if before != nil && len(before.nextKeyHashes) == 0 {
		signers = before.updateKeys
	} else if before != nil {
		isSaid := has(s.parameters, "updateKeys") && has(s.parameters, "nextKeyHashes")
		demand(isSaid, "with pre-rotation every entry says updateKeys and nextKeyHashes")
		for _, key := range signers {
			isCommitted := contains(before.nextKeyHashes, multihash([]byte(key)))
			demand(isCommitted, "the entry before did not commit to a key of updateKeys")
		}
	}
	for _, key := range signers {
		demand(isPublicKey(key), "an update key is not an Ed25519 multikey")
	}
	return signers
}

func (s *state) readDID(before *state) {
	s.did = text(s.document["id"])
	named := webvhDID.FindStringSubmatch(s.did)
	demand(named != nil && named[1] == s.webvh.scid, "the document is one of another DID")
	host := webvhHost.FindStringSubmatch(named[2])
	demand(host != nil && !numeric.MatchString(host[1]), "the host is not a domain name")
	for _, segment := range strings.Split(named[3], ":")[1:] {
		plain := taken(url.PathUnescape(segment))
		leaves := strings.IndexFunc(plain, func(one rune) bool { return !unicode.IsPrint(one) || strings.ContainsRune(`/\?#%`, one) })
		demand(plain != "." && plain != ".." && leaves == -1, "the path leaves its place")
	}
	if before == nil || s.did == before.did {
		return
	}
	aliases, _ := s.document["alsoKnownAs"].([]any)
	isTold := false
	for _, alias := range aliases {
		isTold = isTold || alias == before.did
	}
	demand(isTold && s.webvh.portable, "the DID was moved without being portable, or without naming where it came from")
}

func readWitnesses(said object) *witnesses {
	if len(said) == 0 {
		return nil
	}
	demand(members(said) == "threshold,witnesses", "witness is malformed")
	found := &witnesses{}
	for _, one := range list(said["witnesses"]) {
		key := strings.TrimPrefix(text(record(one)["id"]), "did:key:")
		demand(isPublicKey(key) && !contains(found.keys, key), "a witness is not an Ed25519 key, or there twice")
		found.keys = append(found.keys, key)
	}
	threshold, isReachable := integer(said["threshold"], 1, int64(len(found.keys)))
	demand(isReachable, "the threshold cannot be met, or asks for nobody")
	found.threshold = int(threshold)
	return found
}

// unapproved returns the number, from 0, of the first entry with too few approvals ("DID Witnesses"), and the reason. An approval holds for all entries
// before its own, and a list that is replaced must itself approve of the entry that replaces it.
func unapproved(states []*state, witnessFile string) (int, string) {
	required, last := make([]*witnesses, len(states)), -1
	var everybody []string
	for place, one := range states {
		if one.webvh == nil {
			return 0, ""
		}
		required[place] = one.webvh.witnesses
		if place > 0 && states[place-1].webvh.witnesses != nil {
			required[place] = states[place-1].webvh.witnesses
		}
		if required[place] != nil {
			last, everybody = place, append(everybody, required[place].keys...)
		}
	}
	if last == -1 {
		return 0, ""
	}
	proofs := map[string][]any{}
	if refused := refusalOf(func() { proofs = readApprovals(witnessFile) }); refused != nil {
		return last, refused.reason
	}
	seen := map[string]bool{}
	for place := len(states) - 1; place >= 0; place-- {
		versionID := states[place].versionID
		for _, proof := range proofs[versionID] {
			// A bad proof counts for nothing, and spoils nothing.
			_ = refusalOf(func() { seen[checkProof(record(proof), object{"versionId": versionID}, everybody)] = true })
		}
		if required[place] == nil {
			continue
		}
		count := 0
		for _, key := range required[place].keys {
			if seen[key] {
				count++
			}
		}
		if count < required[place].threshold {
			return place, "too few witnesses approved of the entry"
		}
	}
	return 0, ""
}

// readApprovals gives the proofs of did-witness.json by versionId.
func readApprovals(witnessFile string) map[string][]any {
	found := map[string][]any{}
	for _, one := range list(parseUnique([]byte(witnessFile))) {
		said := record(one)
		versionID := text(said["versionId"])
		found[versionID] = append(found[versionID], list(said["proof"])...)
	}
	return found
}

func anyOf(texts []string) []any {
	found := []any{}
	for _, text := range texts {
		found = append(found, text)
	}
	return found
}
