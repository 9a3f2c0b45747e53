"""Training: what happens between a batch and a trained model.

    settings    what a run is told, in sections           sections has the words for each
    prepare     the data to train on, and to test on      stream: in which order it comes
    loop        the loop                                  standing: where it stands
    records     what is told of it                        watch: when not to believe it; evaluate, metrics, screen
    checkpoint  what a kill cannot take                   lock, circumstances, signals

Read in this order: loop, standing, watch, checkpoint; then what they call.
"""
