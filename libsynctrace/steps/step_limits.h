// SPDX-License-Identifier: Apache-2.0
// Every limit of the step finder in one table: name, value, unit, reason, and the unit test that fails when it is half
// or double. "cost": it bounds time or memory alone. "open": no test notices yet. "Likeness" is 1 for the same kinds of
// items as often and 0 for nothing in common (StepCutter::likeness).
#pragma once

#include <cstddef>

#include "base/shares.h"
#include "base/time_span.h"

namespace synctrace {

// clang-format off
// Shares that several rules need.
inline constexpr Share kAtLeastHalf = percent(50);          // share of whatever | more often than not | step_nesting_limits
inline constexpr Share kNearlyAll = percent(80);            // share of steps, passes, marks | names vary, and records are missing | step_cut_limits
inline constexpr Share kNearlyAllWork = percent(90);        // share of the work | the rest is a log line or the set-up | steps
inline constexpr Share kInNearlyEach = percent(90);         // share of steps | an item that each step has, but for lost records | step_begins
inline constexpr Share kFiner = {3, 2};                     // share of a level's steps | a finer level has half as many more | step_cut_limits
inline constexpr Share kCoarser = {2, 3};                   // share of a level's steps | a coarser level has a third less | generated_steps
inline constexpr std::size_t kLeastSteps = 3;               // steps | two may be alike by chance | steps
inline constexpr std::size_t kFewestPasses = 2;             // passes in a step | one pass is the step itself | step_micro_limits

// What was issued (step_events, step_items).
inline constexpr std::size_t kDeepestFrame = 64;            // frames | loops lie near the outermost frame | step_nesting_limits
inline constexpr std::size_t kEpisodeGap = 12;              // items | an optimizer's kernels by stacks, others between them | step_cut_limits
inline constexpr std::size_t kEpisodeGapByName = 4;         // items | the same by names, which tell less surely | step_cut_limits
inline constexpr Share kNearlyAllStacks = percent(90);      // share of a kernel's stacks | it is the optimizer's, though others launch it now and then | open

// A piece and the typical step (step_level).
inline constexpr Share kAlike = percent(70);                // likeness | a log line or another shape may be in a step | step_cut_limits
inline constexpr Share kExact = percent(97);                // likeness | equal but for a lost record | step_cut_limits
inline constexpr Share kPartAlike = percent(80);            // likeness | the begin of a piece that goes on with other work | step_cut_limits
inline constexpr Share kOddAlike = percent(30);             // likeness | a step that went another way | step_cut_limits
inline constexpr Share kAlikeWithLoss = percent(60);        // likeness | a step in which a record or two are missing | step_cut_limits
inline constexpr Share kNeighboursAlike = percent(40);      // share of pairs of pieces | steps come in runs, some of them short | step_cut_limits
inline constexpr Share kNearlyWhole = percent(90);          // share of the typical step's items | the last piece of a range, and the rest of a piece | generated_steps
inline constexpr Share kMostOfStep = percent(125);          // share of the typical step's items | a step has a few items more | step_begins
inline constexpr Share kMostOfVariedStep = percent(150);    // share of the typical step's items | sentences differ in length | step_cut_limits
inline constexpr Share kMostOff = percent(25);              // share of the typical step's items | an odd step is about as large | step_begins
inline constexpr std::size_t kFewMore = 8;                  // items | a log line belongs to a small step | step_cut_limits
inline constexpr Share kMostOdd = percent(10);              // share of the steps | more odd ones are no exception | step_cut_limits
inline constexpr Share kMostOddOptimizing = percent(50);    // share of the steps | odd ones in each of which an optimizer works | open
inline constexpr Share kLeastOfMedian = percent(80);        // share of the median size | the typical step is about of it | open
inline constexpr Share kMostOfMedian = percent(125);        // share of the median size | the typical step is about of it | step_cut_limits
inline constexpr std::size_t kTimesAsFrequent = 3;          // times as many | another size is the typical one | generated_steps
inline constexpr std::size_t kCandidates = 5;               // pieces of a size | the most typical is one of these | cost
inline constexpr std::size_t kMostTimesCandidate = 4;       // times its items | longer pieces are not compared | generated_steps
inline constexpr std::size_t kMostPairs = 48;               // pairs of pieces | a sample | step_joins
inline constexpr std::size_t kMostPairItems = 40'000;       // items in such pairs | pieces of thousands | cost

// A level (step_levels).
inline constexpr std::size_t kMostKinds = 512;              // kinds of items | those that come most often are tried as marks | cost
inline constexpr std::size_t kMostMarkLooks = 32;           // marks | a sample shows that two kinds come in turn | cost
inline constexpr Share kSmallestLevel = percent(20);        // share of the items, the time or the work | a smaller loop is an aside | step_cut_limits
inline constexpr Share kTouching = percent(45);             // share of steps | steps come in runs | step_cut_limits
inline constexpr Share kSame = percent(95);                 // likeness | two levels whose marks stand at other places of one step | step_search_limits
inline constexpr std::size_t kItemsBefore = 3;              // items | what ran before it tells which of several reads one is | open
inline constexpr std::size_t kMoreItemsBefore = 7;          // items | where as many do not tell: those behind the read before | nested_steps
inline constexpr std::size_t kFarApart = 4;                 // times the usual distance | a loop begins anew | open
inline constexpr Share kAsMany = {50, 49};                  // share of a level's steps | such a level has 2 % more of them, for lost records | open

// A level and another one (step_nesting).
inline constexpr Share kAlikeLayers = percent(70);          // likeness | marks at other places of one layer | step_micro_limits
inline constexpr Share kUnlike = percent(92);               // likeness | less is another sort of step, where two sorts take turns | step_nesting_limits
inline constexpr double kTimesAsUnlike = 3;                 // times as unlike | parts of a step beside the whole steps | open
inline constexpr Share kMostOfThem = percent(65);           // share of the parts' own | steps in which few of the records are missing | open
inline constexpr Share kMoreAlike = percent(5);             // likeness | by so much a step is more like the next but one | step_nesting_limits
inline constexpr Share kEqualAgain = percent(20);           // share of parts | names vary, and few are equal to those of the next step | open
inline constexpr Share kHardlyDiffer = percent(94);         // likeness | steps of a loop may differ by a kernel or two | step_nesting_limits
inline constexpr Share kMuchAlike = percent(95);            // likeness, mean | steps made of parts that differ | open
inline constexpr std::size_t kMostTurnLooks = 64;           // steps | a sample shows that two sorts take turns | cost
inline constexpr Share kPassesOff = {1, 8};                 // share of the passes, and one more | each step holds about as many layers | generated_steps
inline constexpr std::size_t kFewSteps = 16;                // coarser steps | each of fewer has to hold as many passes, and fewer are no whole | step_nesting_limits
inline constexpr std::size_t kFewestParts = 3;              // passes in a step | a step with parts is no layer | open
inline constexpr Share kMoreThanParts = percent(25);        // share of a pass's work | a step does so much beside its passes | step_nesting_limits
inline constexpr std::size_t kMostPassesForOne = 8;         // passes for each coarser step | a few steps do not show hundreds of layers | step_nesting_limits
inline constexpr std::size_t kMostTimesPass = 4;            // times a pass's work | a step that does more beside its passes has another main part | generated_steps
inline constexpr Share kBacksOfLayers = percent(25);        // share of passes, or of looks | stacks show a loop of the program's own | step_nesting_limits
inline constexpr Share kBacksOfPasses = percent(50);        // share of passes, or of looks | stacks show micro-batches | open
inline constexpr std::size_t kFewestLooks = 4;              // stacks in a coarser step | fewer do not show that nothing loops | step_nesting_limits
inline constexpr std::size_t kMostLayers = 64;              // passes in a step | of more parts it does not matter how they differ | open
inline constexpr Share kAsideWork = percent(10);            // share of the items | a backward pass, issued by autograd's thread | step_micro_limits
inline constexpr std::size_t kClearAndClip = 3;             // kernels | gradients are cleared, measured and scaled beside the passes | step_micro_limits
inline constexpr Share kAllWork = percent(95);              // share of a step's work | micro-batches do all of it | step_micro_limits
inline constexpr Share kLittleMore = percent(5);            // share of a step's work | beside its micro-batches | step_micro_limits
inline constexpr Share kOneInAStep = percent(150);          // optimizer's steps in a step, mean | with two of them two models take turns | step_cut_limits
inline constexpr Share kOnceInAStep = percent(125);         // times in a step, mean | a kernel that runs once in each group | step_micro_limits
inline constexpr std::size_t kFewestGroups = 8;             // groups of passes | in fewer a rare kernel is in each by chance | step_micro_limits
inline constexpr std::size_t kMostMicroSteps = 64;          // passes in a group | nobody adds up more | step_micro_limits
inline constexpr std::size_t kFewestMore = 2;               // kernels | what a group runs beside its passes | step_nesting_limits
inline constexpr std::size_t kMostLogExchanges = 2;         // exchanges | a log line in a group | generated_steps
inline constexpr std::size_t kKindsOfPass = 8;              // kinds of items | a pass over a batch is no small loop | step_micro_limits

// Which level is the step (step_search).
inline constexpr std::size_t kMostPhases = 8;               // loops | more are not looked for | step_search_limits
inline constexpr std::size_t kItemsOfStep = 4;              // items | a step without an exchange, of several kinds | step_search_limits
inline constexpr std::size_t kItemsOfPlainStep = 8;         // items | a step without an exchange, of whatever kinds | step_search_limits
inline constexpr std::size_t kKindsOfStep = 3;              // kinds of items | a smaller step without an exchange | step_search_limits
inline constexpr Share kInRuns = percent(60);               // share of steps | an optimizer's steps follow each other | generated_steps
inline constexpr std::size_t kPassesOfAWait = 16;           // steps | a host that waits more rarely waits for its log | generated_steps

// Where steps begin, and which of them belong together (step_begins, step_joins, step_split).
inline constexpr std::size_t kMostMarks = 48;               // kinds of items | those tried for the begin | cost
inline constexpr std::size_t kFewestTorn = 3;               // last steps of runs | fewer lack an item by chance | step_begins
inline constexpr double kTimesByChance = 4;                 // times | so many more lack it than by chance | step_begins
inline constexpr Share kLeastAlike = percent(10);           // share of the steps | the rarer sort of steps is the least alike tenth | step_cut_limits
inline constexpr std::size_t kShiftParts = 16;              // parts of a step | the begin is tried at each | step_search_limits
inline constexpr Share kLessThanSteps = percent(10);        // likeness | a step by chance is less alike than others by this | step_begins
inline constexpr Share kGainOfAShift = percent(5);          // likeness, summed up | a shift that gains less is none | step_cut_limits
inline constexpr std::size_t kShortestRun = 3;              // steps, mean | two loops take turns in runs | step_search_limits
inline constexpr Share kOtherSort = percent(10);            // share of the steps | fewer are no loop | step_search_limits
inline constexpr Share kHardlyAny = percent(5);             // share of the other loop's steps | a kernel of the one loop is in few of the other | open

// Stacks (step_looks, step_candidates).
inline constexpr Share kMostVotes = {2, 3};                 // share of the most votes | the outermost function that loops about as often | open
inline constexpr std::size_t kFewestGaps = 3;               // gaps of a loop | once or twice is not now and then | step_looks
inline constexpr Share kLittleOfGaps = percent(10);         // share of the gaps | a loop of so little is a part of what is done there | step_looks
inline constexpr std::size_t kFewestSeenOutside = 2;        // stacks | one may be by chance | step_nesting_limits
inline constexpr std::size_t kFewestStackLooks = 16;        // steps | so many at least, however large | cost
inline constexpr std::size_t kMostStacksLookedAt = 262'144; // stacks in all of them | a sample | cost
inline constexpr std::size_t kMostStackLooks = 512;         // steps, and stacks in one | a sample | cost
inline constexpr std::size_t kMostStepLooks = 32;           // coarser steps | a sample | cost
inline constexpr std::size_t kMostWorkLooks = 4096;         // operations | a sample | cost

// Classes of steps (step_classes).
inline constexpr std::size_t kMostClasses = 4;              // classes | more tell a reader nothing | step_classes
inline constexpr Share kRarestClass = percent(3);           // share of the steps | rarer ones are exceptions | step_classes
inline constexpr Share kOtherClass = percent(120);          // share of the items | a call that matters issues work | step_classes
inline constexpr std::size_t kBodiesInABody = 3;            // functions | a loop calls a step, which calls another | step_classes

// What is said of the steps (step_phases, step_ranges, step_lengths).
inline constexpr std::size_t kStepsForSure = 8;             // steps | fewer are a guess | found_steps
inline constexpr Share kAlikeForSure = percent(90);         // likeness, mean | steps that do the same work each time | found_steps
inline constexpr Share kSmallestPhase = percent(2);         // share of the first phase's time | a shorter phase is not listed | step_search_limits
inline constexpr Share kLittleWork = percent(5);            // share of a later phase's work | a loop before it builds what that one runs | framework_steps
inline constexpr std::size_t kMostGraphsOfStack = 64;        // graphs in turn at one stack | each further one stands for itself | cost
inline constexpr std::size_t kLaunchesOfRareGraph = 2;       // launches | a graph that was made for one shape does what others do | framework_steps
inline constexpr std::uint64_t kConstantBytes = 8;           // bytes | a number that JAX's own thread uploads is a constant of an operation | framework_steps
inline constexpr std::size_t kTimesOfCompiling = 4;          // times its steps | more passes of the line make it the loop's start | found_steps
inline constexpr std::size_t kLooksAtCompiling = 100;        // moments | where a phase is looked at for compilation | cost
inline constexpr std::size_t kTimesAStep = 2;               // times a step's operations | something else runs between two ranges | steps
inline constexpr std::size_t kFewestOfRecurring = 3;        // steps | one or two long ones of few do not recur | step_lengths
inline constexpr Share kRecurring = percent(5);             // share of the steps | long ones that recur are how the program runs: a slow loader | step_lengths
inline constexpr Nanoseconds kOrdinarySpreads = 5;          // times the spread | a step further from the median is not ordinary | step_lengths
inline constexpr Share kSpreadOfMedian = percent(150);      // share of the median difference | the spread of lengths, as a standard deviation | step_lengths
inline constexpr Share kLeastSpread = percent(2);           // share of the median length | steps hardly differ, and a few per cent are ordinary | step_lengths
inline constexpr Share kMostWarmUp = percent(50);           // share of the steps | the second half shows what is usual | step_lengths
inline constexpr Share kSureEnough = {1, 500};              // share of the mean length | fewer steps do not make it surer | step_lengths
// clang-format on

}  // namespace synctrace
