torchrun pretrain.py --fp16 --initial-loss-scale 65536 \
  --hysteresis 2 --clip-grad=1.0
