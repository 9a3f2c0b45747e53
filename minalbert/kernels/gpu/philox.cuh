// The dropout mask, sampled where it is used: the words of numpy.random.Philox, exactly, and no state at all.
//
//     words of block b = Philox4x64-10(counter, key)     counter = (b + 1, example, layer, site)     key = (seed, step)
//     a block is 4 words of 64 bits = 16 numbers of 16 bits, the lowest first        keep = number >= threshold
//
// (Salmon et al., 2011; NumPy counts before it draws, hence b + 1.) A round multiplies two halves of the counter by
// constants, crosses the halves of the products, and mixes in the key, which then moves on by a constant of its own.
//
// Which element has which number, as in `backend.dropout_mask`: the counter names the slice of the batch by its first
// example. Example b of the slice owns ceil(elements / 16) blocks, from b · ceil(elements / 16) on, and element e of it
// has number e mod 16 of block e / 16 of these.
//
// What describes the mask, the same arguments in every kernel with dropout:
//
//     const unsigned long long* dropout_key     (seed, step, example) in device memory, so that a captured step may be
//                                               replayed with the next ones; null where nothing is dropped
//     unsigned long long layer, site            where in the step
//     unsigned threshold, float scale           65536 P(drop), and 1 / P(keep)
#pragma once

struct DropoutKey {
    unsigned long long seed, step, example, layer, site;
};

struct Words {
    unsigned long long word[4];
};

__device__ inline DropoutKey key_at(const unsigned long long* dropout_key, unsigned long long layer,
                                    unsigned long long site) {
    return DropoutKey{dropout_key[0], dropout_key[1], dropout_key[2], layer, site};
}

__device__ inline unsigned long long high_word(unsigned long long a, unsigned long long b) {
#ifdef CUDA_ON_CPU
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
#else
    return __umul64hi(a, b);
#endif
}

__device__ inline Words words_of_block(const DropoutKey& key, unsigned long long block) {
    const unsigned long long multiplier0 = 0xD2E7470EE14C6C93ull, multiplier1 = 0xCA5A826395121157ull;
    unsigned long long x0 = block + 1, x1 = key.example, x2 = key.layer, x3 = key.site;
    unsigned long long key0 = key.seed, key1 = key.step;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned long long high0 = high_word(multiplier0, x0), low0 = multiplier0 * x0;
        const unsigned long long high1 = high_word(multiplier1, x2), low1 = multiplier1 * x2;
        x0 = high1 ^ x1 ^ key0;
        x1 = low1;
        x2 = high0 ^ x3 ^ key1;
        x3 = low0;
        key0 += 0x9E3779B97F4A7C15ull;                  // the golden ratio
        key1 += 0xBB67AE8584CAA73Bull;                  // √3 - 1
    }
    return Words{{x0, x1, x2, x3}};
}

// One of several words by a number that is not known when compiling: selected, so that the words stay in registers.
__device__ inline unsigned long long pick(const Words& words, int i) {
    const unsigned long long even = i & 2 ? words.word[2] : words.word[0];
    const unsigned long long odd = i & 2 ? words.word[3] : words.word[1];
    return i & 1 ? odd : even;
}

// Number i of 16.
__device__ inline unsigned number(const Words& words, int i) {
    return (unsigned)(pick(words, i >> 2) >> (16 * (i & 3))) & 0xffffu;
}

// The first block of example b of this slice, each with `elements` elements.
__device__ inline unsigned long long first_block(long long b, long long elements) {
    return b * ((elements + 15) / 16);
}

// The numbers of eight elements that follow each other.
struct EightNumbers {
    unsigned long long low, high;

    __device__ unsigned number(int i) const {             // i is known when compiling
        return (unsigned)((i < 4 ? low : high) >> (16 * (i & 3))) & 0xffffu;
    }
};

// Of elements e to e + 7 of the example whose first block is `first`: one block, or where e mod 16 > 8 also the next.
__device__ inline EightNumbers eight_numbers(const DropoutKey& key, unsigned long long first, long long e) {
    const int start = (int)(e & 15), skipped = start >> 2, shift = 16 * (start & 3);
    const Words here = words_of_block(key, first + (e >> 4));
    Words next = here;
    if (start > 8)
        next = words_of_block(key, first + (e >> 4) + 1);
    unsigned long long a = pick(here, skipped);
    unsigned long long b = skipped < 3 ? pick(here, skipped + 1) : next.word[0];
    if (shift) {
        const unsigned long long c = skipped < 2 ? pick(here, skipped + 2) : pick(next, skipped - 2);
        a = a >> shift | b << (64 - shift);
        b = b >> shift | c << (64 - shift);
    }
    return EightNumbers{a, b};
}
