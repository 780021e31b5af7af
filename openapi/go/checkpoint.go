package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Checkpoint is what a log has signed: how many entries it has, and their root in base64url.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   string
	// Cosigned has the times of the witnesses' cosignatures, by their names.
	Cosigned map[string]time.Time
}

// CheckpointCheck has the keys by which a checkpoint is verified.
type CheckpointCheck struct {
	// LogKey is the key of the log (VerifierKey of GetLedgerKey), from a source that is not the log.
	LogKey string
	// Witnesses are the verifier keys of known witnesses; so many Cosignatures of them are needed.
	Witnesses    []string
	Cosignatures int
}

type verifierKey struct {
	name, id string
	kind     byte
	octets   []byte
}

const (
	logKind, witnessKind, mlDSAKind = 1, 4, 6
	mlDSAOctets                     = 1312
	mostNoteOctets                  = 64 << 10
	mostEntries                     = 1<<53 - 1
	// The year 9999 ends.
	lastSecond = 253_402_300_799
	emptyRoot  = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
)

var (
	sizeText = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,15})$`)
	keyText  = regexp.MustCompile(`^([^+]+)\+([0-9a-f]{8})\+(.*)$`)
)

// VerifyCheckpoint verifies an answer of GetLedgerCheckpoint, from any source: the signature of the log, and those of known witnesses (C2SP
// tlog-checkpoint and tlog-cosignature). A checkpoint does not show that no newer one exists: remember the newest, and compare with
// VerifyConsistency.
func VerifyCheckpoint(note string, check CheckpointCheck) (read Checkpoint, err error) {
	err = errorOf(func() {
		isPlain := utf8.ValidString(note) && strings.IndexFunc(note, func(one rune) bool { return one < ' ' && one != '\n' }) == -1
		demand(len(note) <= mostNoteOctets && isPlain, "the note is too large, or not plain text")
		end := strings.LastIndex(note, "\n\n")
		demand(end > 0 && strings.HasSuffix(note, "\n"), "the note is not text, a blank line and signature lines")
		body := note[:end+1]
		signatures := map[string][]byte{}
		for _, line := range strings.Split(strings.TrimSuffix(note[end+2:], "\n"), "\n") {
			readSignature(line, signatures)
		}
		read = readCheckpoint(body)
		log := readKey(check.LogKey)
		demand(read.Origin == log.name, "the checkpoint is of another log, "+read.Origin)
		signature, isSigned := signatures[log.name+" "+log.id]
		demand(isSigned && log.kind == logKind, "the checkpoint is not signed by the key of the log")
		log.check(body, signature)
		for _, text := range check.Witnesses {
			witness := readKey(text)
			if cosignature, is := signatures[witness.name+" "+witness.id]; is && witness.kind == witnessKind {
				read.Cosigned[witness.name] = witness.cosignedAt(body, cosignature)
			}
		}
		count := len(read.Cosigned)
		demand(count >= check.Cosignatures, fmt.Sprintf("%d of the witnesses have cosigned the checkpoint, %d were asked for", count, check.Cosignatures))
	})
	return read, err
}

// VerifyInclusion returns an error unless the entry of an answer of GetLedgerInclusionProof is in the tree of the checkpoint (RFC 9162
// §2.1.3.2).
func VerifyInclusion(checkpoint Checkpoint, proof LedgerInclusionProof) error {
	return errorOf(func() {
		isInside := 0 <= proof.LeafIndex && proof.LeafIndex < checkpoint.Size
		demand(isInside, fmt.Sprintf("the tree of %d entries has no entry %d", checkpoint.Size, proof.LeafIndex))
		_, root := climb(proof.LeafIndex, checkpoint.Size-1, append([]string{proof.LeafHash}, proof.Hashes...))
		demand(root == checkpoint.Root, "the inclusion proof does not lead to the root")
	})
}

// VerifyConsistency returns an error unless the log of the later checkpoint begins with that of the earlier one, by an answer of
// GetLedgerConsistencyProof (RFC 9162 §2.1.4.2).
func VerifyConsistency(earlier, later Checkpoint, proof LedgerConsistencyProof) error {
	return errorOf(func() {
		demand(earlier.Origin == later.Origin, "the checkpoint is of another log, "+later.Origin)
		demand(earlier.Size <= later.Size, fmt.Sprintf("the log went back from %d to %d entries", earlier.Size, later.Size))
		steps, expected := proof.Hashes, later.Root
		if earlier.Size == 0 {
			expected = emptyRoot
		}
		if earlier.Size == 0 || earlier.Size == later.Size {
			demand(earlier.Root == expected && len(steps) == 0, "two trees of one size have different roots, or the proof is too long")
			return
		}
		place, last := earlier.Size-1, later.Size-1
		for place%2 == 1 {
			place, last = place/2, last/2
		}
		// The first node of a complete tree is its root.
		if place == 0 {
			steps = append([]string{earlier.Root}, steps...)
		}
		older, newer := climb(place, last, steps)
		demand(older == earlier.Root, fmt.Sprintf("the log does not begin with the %d entries that it had", earlier.Size))
		demand(newer == later.Root, "the consistency proof does not lead to the new root")
	})
}

// climb gives the root over the node at place of a level that ends with last, the first of the hashes: with the siblings on its left alone,
// and with all.
func climb(place, last int64, hashes []string) (string, string) {
	demand(len(hashes) > 0, "the proof is too short")
	older, newer := readHash(hashes[0]), readHash(hashes[0])
	for _, text := range hashes[1:] {
		demand(last > 0, "the proof is too long")
		sibling := readHash(text)
		if place%2 == 1 || place == last {
			older, newer = nodeHash(sibling, older), nodeHash(sibling, newer)
			for place%2 == 0 && place > 0 {
				place, last = place/2, last/2
			}
		} else {
			newer = nodeHash(newer, sibling)
		}
		place, last = place/2, last/2
	}
	demand(last == 0, "the proof is too short")
	return base64url(older), base64url(newer)
}

func nodeHash(left, right []byte) []byte {
	return sha256Of(append(append([]byte{1}, left...), right...))
}

func readHash(text string) []byte {
	octets := base64urlDecode(text)
	demand(len(octets) == 32, "a hash has 32 bytes")
	return octets
}

func readCheckpoint(body string) Checkpoint {
	lines := strings.Split(body, "\n")
	isForm := len(lines) == 4 && lines[0] != "" && lines[3] == "" && sizeText.MatchString(lines[1])
	demand(isForm, "a checkpoint has three lines: origin, size and root")
	size, root := taken(strconv.ParseInt(lines[1], 10, 64)), base64Decode(lines[2])
	demand(size <= mostEntries && len(root) == 32, "the size or the root of the checkpoint is none")
	return Checkpoint{lines[0], size, base64url(root), map[string]time.Time{}}
}

// readSignature adds the signature of a line by name and id of its key; the first one counts.
func readSignature(line string, signatures map[string][]byte) {
	parts := strings.Split(line, " ")
	demand(len(parts) == 3 && parts[0] == "\u2014" && isKeyName(parts[1]), "a signature line has the form \u2014 name base64")
	octets := base64Decode(parts[2])
	demand(len(octets) > 4, "a signature line holds no signature")
	key := parts[1] + " " + hex.EncodeToString(octets[:4])
	if _, is := signatures[key]; !is {
		signatures[key] = octets[4:]
	}
}

func isKeyName(text string) bool {
	isOther := func(one rune) bool { return unicode.IsSpace(one) || one < ' ' || one == '+' }
	return text != "" && utf8.ValidString(text) && strings.IndexFunc(text, isOther) == -1
}

// readKey reads name+id+key. The names of witnesses with ML-DSA-44 are known, and their cosignatures do not count.
func readKey(text string) verifierKey {
	parts := keyText.FindStringSubmatch(strings.TrimSpace(text))
	demand(parts != nil && isKeyName(parts[1]), "a verifier key has the form name+id+key")
	whole := base64Decode(parts[3])
	demand(len(whole) > 0, "a verifier key has the form name+id+key")
	size, isKnown := map[byte]int{logKind: ed25519.PublicKeySize, witnessKind: ed25519.PublicKeySize, mlDSAKind: mlDSAOctets}[whole[0]]
	demand(isKnown && len(whole) == size+1, "the verifier key is of another kind")
	digest := sha256Of(append([]byte(parts[1]+"\n"), whole...))
	demand(hex.EncodeToString(digest[:4]) == parts[2], "the id of the verifier key is not that of its key")
	return verifierKey{parts[1], parts[2], whole[0], whole[1:]}
}

func (k verifierKey) check(message string, signature []byte) {
	demand(!isWeak(k.octets) && ed25519.Verify(k.octets, []byte(message), signature), "the signature of "+k.name+" is wrong")
}

func (k verifierKey) cosignedAt(body string, octets []byte) time.Time {
	demand(len(octets) == 8+ed25519.SignatureSize, "the cosignature of "+k.name+" has another form")
	seconds := binary.BigEndian.Uint64(octets)
	demand(0 < seconds && seconds <= lastSecond, "the cosignature of "+k.name+" has another form")
	k.check(fmt.Sprintf("cosignature/v1\ntime %d\n%s", seconds, body), octets[8:])
	return time.Unix(int64(seconds), 0).UTC()
}

// base64Decode takes base64 with padding (RFC 4648 §4) in its one form.
func base64Decode(text string) []byte {
	octets := taken(base64.StdEncoding.DecodeString(text))
	demand(base64.StdEncoding.EncodeToString(octets) == text, "not base64 in its one form")
	return octets
}
